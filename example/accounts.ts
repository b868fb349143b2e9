/** The people of the example, and which of them may be viewed. Yours come from your user database. */
import type { FindAccount } from 'oidc-provider'

export interface Person {
  readonly id: string
  readonly name: string
  readonly role: 'customer' | 'support'
  /** Who looks after this customer instead of the support desk. */
  readonly accountManager?: string
}

export const PEOPLE: readonly Person[] = [
  { id: 'alice', name: 'Alice Archer', role: 'customer' },
  { id: 'bob', name: 'Bob Baker', role: 'customer' },
  { id: 'carol', name: 'Carol Cole', role: 'customer', accountManager: 'Mara Moss' },
  { id: 'sam', name: 'Sam Sawyer', role: 'support' },
  { id: 'robin', name: 'Robin Reed', role: 'support' },
]

export const findPerson = (id: string): Person | undefined => PEOPLE.find((person) => person.id === id)

export const isSupport = (id: string): boolean => findPerson(id)?.role === 'support'

/**
 * The rule: only customers, and only if their account is not protected. Returns the sentence that tells an engineer
 * why not, or `undefined` if the person may be viewed. The backend applies it first, the provider again (`isAllowed`).
 */
export function whyNotViewable({ name, role, accountManager }: Person): string | undefined {
  if (role !== 'customer') return `${name} works here. Only customers can be viewed.`
  if (accountManager)
    return `The account of ${name} is protected. Ask ${accountManager}, the account manager.`
  return undefined
}

export function isViewable(id: string): boolean {
  const person = findPerson(id)
  return person !== undefined && whyNotViewable(person) === undefined
}

export const findAccount: FindAccount = (_ctx, id) => {
  const person = findPerson(id)
  return person && { accountId: id, claims: () => ({ sub: id, name: person.name }) }
}
