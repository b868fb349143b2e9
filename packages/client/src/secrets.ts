/** Credentials and tokens of a request, and texts without them: a server, or what stands before it, may quote it. */
import type { ClientAuth } from 'oauth4webapi'

/** The members that say how a client authenticates, and under which name. */
const PUBLIC = ['client_id', 'client_assertion_type']

/** Authenticates in the same way, and adds the credentials that it puts into the request to `secrets`. */
export function collecting(authenticate: ClientAuth, secrets: (string | undefined)[]): ClientAuth {
  return async (server, client, body, headers) => {
    const entries = () => [...body, ...headers].filter(([name]) => !PUBLIC.includes(name))
    const before = new Set(entries().map(String))
    await authenticate(server, client, body, headers)
    const added = entries().filter((entry) => !before.has(String(entry)))
    for (const [, value] of added) secrets.push(value, ...credentialsOf(value))
  }
}

/** The parts of a header of HTTP authentication (RFC 9110 §11.4, RFC 7617 §2), a secret also as it is (RFC 6749 §2.3.1). */
function credentialsOf(value: string): string[] {
  const credentials = value.slice(value.indexOf(' ') + 1).trimStart()
  if (!value.toLowerCase().startsWith('basic ')) return [credentials]
  try {
    const decoded = atob(credentials)
    const secret = decoded.slice(decoded.indexOf(':') + 1)
    const plain = new URLSearchParams(`=${secret}`).get('') ?? ''
    return [credentials.replaceAll('=', ''), decoded, secret, plain]
  } catch {
    return [credentials]
  }
}

/** The text without the secrets, however they are encoded in it. */
export function without(secrets: readonly (string | undefined)[], text: string): string {
  // A secret may be part of a longer one.
  const given = secrets.filter((secret): secret is string => Boolean(secret))
  const longestFirst = given.sort((one, other) => other.length - one.length)
  return longestFirst.reduce((rest, secret) => rest.replace(writtenAnyWay(secret), '…'), text)
}

/** Matches a text as it is, in a form, in a URL and in JSON. */
function writtenAnyWay(text: string): RegExp {
  const characters = [...text].map((character) => {
    const octets = [...new TextEncoder().encode(character)]
    const encoded = octets.map((octet) => `%${octet.toString(16).padStart(2, '0')}`).join('')
    const literal = character.replace(/[\\^$.*+?()[\]{}|/]/, '\\$&')
    return `(?:\\\\?${literal}|${encoded}${character === ' ' ? '|\\+' : ''})`
  })
  return new RegExp(characters.join(''), 'gi')
}
