/** Tokens that are bound to a client certificate: RFC 8705. */
import { type Check, Failed } from '../check.ts'
import { equal, granted, holds, refused } from '../expect.ts'
import type { Session } from '../session.ts'
import { confirmationOf } from './confirmation.ts'

const MTLS = { level: 'MUST', profiles: ['mtls'] } as const

function certificateOf(session: Session) {
  const { certificate } = session.driver
  if (!certificate) throw new Failed('the profile mtls needs a certificate from the driver')
  return certificate
}

export const mtlsChecks: readonly Check[] = [
  {
    ...MTLS,
    id: 'mtls.binds',
    says: "The new token is bound to the client's certificate: cnf with x5t#S256.",
    source: 'RFC 8705 §3.1',
    async run(session) {
      const { thumbprint, fetch } = certificateOf(session)
      const given = granted(await session.exchange({}, { client: session.client('mtls'), fetch }))
      equal('cnf.x5t#S256', confirmationOf(await session.claims(given))['x5t#S256'], thumbprint)
    },
  },
  {
    ...MTLS,
    id: 'mtls.required',
    says: 'A client that is registered for bound tokens gets none without its certificate.',
    source: 'RFC 8705 §3',
    after: 'mtls.binds',
    async run(session) {
      const answer = await session.exchange({}, { client: session.client('mtls') })
      refused(session, answer, ['invalid_request', 'invalid_grant', 'invalid_client'])
    },
  },
  {
    ...MTLS,
    id: 'mtls.introspection',
    says: 'Introspection shows the certificate of an opaque token.',
    source: 'RFC 8705 §3.2',
    profiles: ['mtls', 'opaque', 'introspection'],
    after: 'mtls.binds',
    async run(session) {
      const { thumbprint, fetch } = certificateOf(session)
      const target = session.targetOf('opaque')
      const given = granted(await session.exchange({}, { client: session.client('mtls'), fetch, target }))
      holds(
        confirmationOf(await session.introspect(given.token))['x5t#S256'] === thumbprint,
        'introspection does not show it',
      )
    },
  },
]
