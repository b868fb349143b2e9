/** The server's metadata: RFC 8414. */
import { type Check, Failed, Skipped } from '../check.ts'
import { TOKEN_EXCHANGE } from '../constants.ts'
import { equal, holds } from '../expect.ts'
import type { Session } from '../session.ts'

async function metadataOf(session: Session): Promise<Readonly<Record<string, unknown>>> {
  const { metadata } = session.driver
  if (metadata === undefined) throw new Skipped('the driver has no metadata')
  const { status, body } = await session.get(metadata)
  if (status !== 200 || !body) throw new Failed(`the metadata responds with ${status}`)
  return body
}

const METADATA = { level: 'MUST', profiles: ['metadata'] } as const

export const metadataChecks: readonly Check[] = [
  {
    ...METADATA,
    id: 'metadata.issuer',
    says: 'The issuer of the metadata is the issuer of the tokens.',
    source: 'RFC 8414 §3.3',
    async run(session) {
      equal('issuer', (await metadataOf(session)).issuer, session.driver.issuer)
    },
  },
  {
    ...METADATA,
    id: 'metadata.token-endpoint',
    says: 'The metadata names the token endpoint.',
    source: 'RFC 8414 §2',
    async run(session) {
      equal('token_endpoint', (await metadataOf(session)).token_endpoint, session.driver.tokenEndpoint)
    },
  },
  {
    ...METADATA,
    id: 'metadata.grant-types',
    says: 'grant_types_supported lists the token exchange grant.',
    source: 'RFC 8414 §2',
    level: 'SHOULD',
    async run(session) {
      const { grant_types_supported: grants } = await metadataOf(session)
      holds(Array.isArray(grants) && grants.includes(TOKEN_EXCHANGE), 'it does not')
    },
  },
]
