/** The people of the example, and which of them may be viewed. Yours come from your user database. */
import type { FindAccount } from 'oidc-provider'
import type { ConsoleRight } from '../packages/console/src/index.ts' // yours: 'oidc-provider-impersonation-console'

export interface Person {
  readonly id: string
  readonly name: string
  readonly role: 'customer' | 'support' | 'security'
  readonly plan?: 'Free' | 'Plus'
  /** Who looks after this customer instead of the support desk. */
  readonly accountManager?: string
  /** What this person may do in the console. */
  readonly console?: readonly ConsoleRight[]
}

/** Those whom the sign-in page offers. */
export const PEOPLE: readonly Person[] = [
  { id: 'alice', name: 'Alice Archer', role: 'customer', plan: 'Plus' },
  { id: 'bob', name: 'Bob Baker', role: 'customer', plan: 'Free' },
  { id: 'carol', name: 'Carol Cole', role: 'customer', plan: 'Plus', accountManager: 'Mara Moss' },
  { id: 'sam', name: 'Sam Sawyer', role: 'support' },
  // Leads support, and may look at what the others have done.
  { id: 'robin', name: 'Robin Reed', role: 'support', console: ['see'] },
  { id: 'dana', name: 'Dana Dorn', role: 'security', console: ['see', 'stop', 'stopAll'] },
]

/** More customers than fit on a page. */
const OTHERS = [
  'Dora Dean, Elias Ellis, Fatima Faruk, Goran Gray, Hana Hill, Igor Ives, Jamila Jones, Kofi King, Lena Lund',
  'Milo Marsh, Nadia Nash, Oscar Olsen, Pia Park, Quinn Quist, Rosa Ruiz, Simon Stone, Tara Todd, Umar Usman',
].flatMap((names) => names.split(', ').map(customerNamed))

function customerNamed(name: string, place: number): Person {
  return {
    id: name.toLowerCase().replace(' ', '.'),
    name,
    role: 'customer',
    plan: place % 3 ? 'Free' : 'Plus',
  }
}

const EVERYONE: readonly Person[] = [...PEOPLE, ...OTHERS]

/** Everyone whose name, id or address contains the text. A database needs an index for this. */
export function searchPeople(text: string): readonly Person[] {
  const wanted = text.trim().toLowerCase()
  return EVERYONE.filter((person) =>
    [person.name, person.id, emailOf(person)].some((known) => known.toLowerCase().includes(wanted)),
  )
}

export const emailOf = ({ id }: Person): string => `${id}@example.com`

export const findPerson = (id: string): Person | undefined => EVERYONE.find((person) => person.id === id)

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
