/** The people of the example. Yours come from your user database. */
import type { FindAccount } from 'oidc-provider'

interface Person {
  readonly name: string
  readonly role: 'customer' | 'support'
}

const PEOPLE: ReadonlyMap<string, Person> = new Map([
  ['alice', { name: 'Alice Archer', role: 'customer' }],
  ['bob', { name: 'Bob Baker', role: 'customer' }],
  ['sam', { name: 'Sam Sawyer', role: 'support' }],
])

export const findPerson = (id: string): Person | undefined => PEOPLE.get(id)

export const findAccount: FindAccount = (_ctx, id) => {
  const person = findPerson(id)
  return person && { accountId: id, claims: () => ({ sub: id, name: person.name }) }
}
