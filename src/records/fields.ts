import { invalidRequest } from '../base/errors.ts'
import { isStorableName, isStorableWithin, MAX_NAME_LENGTH } from '../base/json.ts'

/** The refusal of a member or a parameter that breaks its own rule. */
export const mustBe = (field: string, what: string) =>
  invalidRequest({ field, public: `${field} must be ${what}` })

/** A name that comes from outside: of an account, a client or a resource. */
export function parseName(field: string, value: unknown): string {
  if (isStorableName(value)) return value
  throw mustBe(field, `a string of 1 to ${MAX_NAME_LENGTH} characters`)
}

const MAX_TEXT_LENGTH = 1000

/** A text that people write for others to read. */
export function parseText(field: string, value: unknown): string {
  if (isStorableWithin(MAX_TEXT_LENGTH, value) && value.trim() !== '') return value
  throw mustBe(field, `a string of 1 to ${MAX_TEXT_LENGTH} characters, and must not be blank`)
}

export function parseFlag(field: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value
  throw mustBe(field, 'true or false')
}

/** Refuses a member that is not one of `fields`: one that is ignored would promise something. */
export function assertKnown(given: object, fields: readonly string[]): void {
  const unknown = Object.keys(given).find((field) => !fields.includes(field))
  if (unknown !== undefined) throw unknownName('member', unknown)
}

/** Names what the caller sent, if that is safe to echo: shorter than any token, which may have been sent as a name. */
export function unknownName(what: 'member' | 'parameter', name: string) {
  const field = /^[\w.-]{1,32}$/.test(name) ? name : undefined
  return invalidRequest({
    field,
    public: field === undefined ? `unknown ${what}` : `unknown ${what}: ${name}`,
  })
}

/** The one of these members that is given. */
export function onlyOne<Name extends string>(
  given: Readonly<Partial<Record<Name, unknown>>>,
  names: readonly Name[],
): Name {
  const [first, second] = names.filter((name) => given[name] !== undefined)
  if (second !== undefined)
    throw invalidRequest({ field: second, public: `${second} must not come with ${first}` })
  if (first !== undefined) return first
  throw invalidRequest({ public: `${names.slice(0, -1).join(', ')} or ${names.at(-1)} is required` })
}

export const required = (field: string) => invalidRequest({ field, public: `${field} is required` })
