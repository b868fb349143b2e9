/** The response of a refused request: RFC 6749 §5.2 and RFC 8693 §2.2.2. */
import { type Check, Skipped } from '../check.ts'
import { UNKNOWN_TARGET } from '../constants.ts'
import type { TokenKind } from '../driver.ts'
import { describeAnswer, holds } from '../expect.ts'
import type { Answer } from '../http.ts'
import type { Session } from '../session.ts'

const SECRET = 'token-exchange-suite-not-a-token'

/** Refusals at different stages of a server. */
async function refusals(session: Session): Promise<Answer[]> {
  const answers = [
    await session.exchange({ subject_token: SECRET }),
    await session.exchange({ subject_token: null }),
    await session.exchange({ grant_type: 'urn:example:unknown' }),
    await session.exchange({ audience: UNKNOWN_TARGET, resource: UNKNOWN_TARGET }),
  ]
  return answers.filter(({ status }) => status !== 200)
}

/** The difference between two refusals that should be the same. */
const wording = ({ status, body }: Answer): string =>
  JSON.stringify([status, body?.error, body?.error_description])

const UNUSABLE: readonly TokenKind[] = ['expired', 'revoked', 'other-client', 'user-gone']

export const errorChecks: readonly Check[] = [
  {
    id: 'errors.json',
    says: 'A refusal is a JSON object with error, declared as application/json.',
    source: 'RFC 6749 §5.2',
    level: 'MUST',
    async run(session) {
      for (const answer of await refusals(session)) {
        const type = answer.headers.get('content-type') ?? ''
        holds(/^application\/json\b/i.test(type), `a refusal is declared as "${type}"`)
        holds(typeof answer.body?.error === 'string', `a refusal has no error: ${describeAnswer(answer)}`)
      }
    },
  },
  {
    id: 'errors.characters',
    says: 'error and error_description hold printable ASCII, without quotes and backslashes.',
    source: 'RFC 6749 §5.2',
    level: 'MUST',
    async run(session) {
      const odd = await session.exchange({ subject_token: 'a"b\\c\u00e9', scope: 'a"b\\c\u00e9' })
      for (const { body } of [...(await refusals(session)), odd]) {
        for (const text of [body?.error, body?.error_description]) {
          if (typeof text !== 'string') continue
          holds(/^[\x20-\x21\x23-\x5B\x5D-\x7E]*$/.test(text), `a forbidden character in: ${text}`)
        }
      }
    },
  },
  {
    id: 'errors.no-store',
    says: 'A refusal is not cached either.',
    source: 'RFC 6749 §5.1',
    level: 'BCP',
    async run(session) {
      for (const { headers } of await refusals(session))
        holds(/\bno-store\b/i.test(headers.get('cache-control') ?? ''), 'Cache-Control lacks no-store')
    },
  },
  {
    id: 'errors.no-token',
    says: 'A refusal does not repeat the token, because bodies of errors end up in logs.',
    source: 'RFC 6750 §5.3',
    level: 'BCP',
    async run(session) {
      const { text } = await session.exchange({ subject_token: SECRET })
      holds(!text.includes(SECRET), 'the subject token is in the body')
    },
  },
  {
    id: 'errors.no-internals',
    says: 'A refusal shows nothing of the source: no stack, no path, no SQL.',
    source: 'CWE-209',
    level: 'advisory',
    async run(session) {
      const odd = await session.exchange({ subject_token: '\'\u0000"' })
      for (const { text } of [...(await refusals(session)), odd]) {
        holds(!/\n\s+at |node_modules|Traceback|SELECT .* FROM|Exception:/i.test(text), 'it shows internals')
      }
    },
  },
  {
    id: 'errors.no-oracle',
    says: 'Unknown, expired, revoked and foreign tokens are refused alike, so that a refusal tells nothing about a stolen token.',
    source: 'RFC 8693 §2.2.2, CWE-204',
    level: 'advisory',
    async run(session) {
      const unknown = wording(await session.exchange({ subject_token: SECRET }))
      let compared = 0
      for (const kind of UNUSABLE) {
        const parameters = await session.subjectParameters(kind).catch((error) => {
          if (error instanceof Skipped) return undefined
          throw error
        })
        if (!parameters) continue
        compared += 1
        const answer = await session.exchange(parameters)
        // Another check says so.
        if (answer.body?.access_token !== undefined) continue
        holds(wording(answer) === unknown, `${kind}: ${wording(answer)}, but unknown: ${unknown}`)
      }
      if (compared === 0) throw new Skipped('the driver has no unusable tokens')
    },
  },
]
