/** Scheme, colon, and the characters of RFC 3986 §2 except `#`. */
const ABSOLUTE_URI = /^[a-z][a-z0-9+.-]*:[\w\-.~:/?[\]@!$&'()*+,;=%]+$/i

/**
 * An absolute URI without a fragment (RFC 8707 §2). Characters that `URL` would trim or encode are refused,
 * because resources are compared as strings.
 */
export function isResourceIndicator(value: unknown): value is string {
  return typeof value === 'string' && ABSOLUTE_URI.test(value) && URL.canParse(value)
}
