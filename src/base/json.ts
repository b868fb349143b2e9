/** JSON values, and what makes a value one. What a deployment's function returns is not trusted to be JSON. */

/** A JSON value (RFC 8259). */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject
/** A JSON object: members of any name that hold JSON values. */
export interface JsonObject {
  readonly [member: string]: JsonValue
}

export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}

/** @throws {TypeError} that names the first of these options, which no one knows. `within`: the option that holds them, and a dot. */
export function refuseUnknown([name]: readonly string[], within = ''): void {
  if (name !== undefined) throw new TypeError(`unknown option: ${within}${name}`)
}

/** Strings that every database keeps unchanged: well-formed Unicode without NUL. */
const isStorableText = (value: string): boolean => value.isWellFormed() && !value.includes('\0')

/** The longest name from outside, in code points. */
export const MAX_NAME_LENGTH = 255

/** Whether every database can keep `value` as a name and find it again: of an account, a client or a resource. */
export const isStorableName = (value: unknown): value is string => isStorableWithin(MAX_NAME_LENGTH, value)

/** Whether `value` is a text of 1 to `longest` code points that every database can keep. */
export function isStorableWithin(longest: number, value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value !== '' &&
    // A code point has at most two UTF-16 units: nothing longer than this needs counting.
    value.length <= 2 * longest &&
    [...value].length <= longest &&
    isStorableText(value)
  )
}

/** Scheme, colon, and the characters of RFC 3986 §2 except `#`. */
const ABSOLUTE_URI = /^[a-z][a-z0-9+.-]*:[\w\-.~:/?[\]@!$&'()*+,;=%]+$/i

/**
 * An absolute URI without a fragment (RFC 8707 §2). Characters that `URL` would trim or encode are refused,
 * because resources are compared as strings.
 */
export function isResourceIndicator(value: unknown): value is string {
  return typeof value === 'string' && ABSOLUTE_URI.test(value) && URL.canParse(value)
}

/**
 * Whether `value` is JSON to the last member, at most `maxLevels` deep (itself being level 1). The limit also
 * ends a walk around a cycle. A getter is not a value: it could return something else the next time.
 */
export function isPlainJson(value: unknown, maxLevels: number): value is JsonValue {
  if (value === null || typeof value === 'boolean') return true
  if (typeof value === 'string') return isStorableText(value)
  // JSON has no Infinity: it would be read back as null.
  if (typeof value === 'number') return Number.isFinite(value)
  if (maxLevels < 1) return false
  if (Array.isArray(value)) return Array.from(value).every((item) => isPlainJson(item, maxLevels - 1))
  if (!isPlainObject(value)) return false
  return Reflect.ownKeys(value).every((key) => {
    const member = Object.getOwnPropertyDescriptor(value, key)
    if (typeof key !== 'string' || !member?.enumerable || member.get) return false
    return isStorableText(key) && isPlainJson(member.value, maxLevels - 1)
  })
}

/** A copy of JSON that shares nothing with `value` and cannot be changed. A member named `__proto__` stays a member. */
export function frozenCopy<Value>(value: Value): Value {
  if (Array.isArray(value)) return Object.freeze(value.map(frozenCopy)) as Value
  if (!isPlainObject(value)) return value
  // A spread defines members, so that no setter is called.
  const copy: Record<string, unknown> = { ...value }
  for (const name of Object.keys(copy)) copy[name] = frozenCopy(copy[name])
  return Object.freeze(copy) as Value
}

/** A copy of an object of our own, without the members that are undefined. */
export function withoutUndefined<Value extends object>(value: Value): Value {
  const copy: Partial<Value> = {}
  for (const name in value) {
    if (value[name] !== undefined) copy[name] = value[name]
  }
  return copy as Value
}
