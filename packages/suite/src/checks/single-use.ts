/** Subject tokens that can be exchanged once. */
import { type Check, Failed, Skipped } from '../check.ts'
import { BAD_TOKEN, granted, holds, refused } from '../expect.ts'

const AT_ONCE = 12
const PROFILES = ['single-use'] as const

export const singleUseChecks: readonly Check[] = [
  {
    id: 'single-use.second-use',
    says: 'A subject token that was exchanged is refused from then on.',
    source: 'RFC 6749 §10.5 (there of codes)',
    level: 'MUST',
    profiles: PROFILES,
    async run(session) {
      const subject = await session.subjectParameters('valid')
      granted(await session.exchange(subject))
      refused(session, await session.exchange(subject), 'invalid_request', BAD_TOKEN)
    },
  },
  {
    id: 'single-use.race',
    says: `Of ${AT_ONCE} requests at the same moment exactly one is granted.`,
    source: 'RFC 6749 §10.5 (there of codes), CWE-367',
    level: 'MUST',
    profiles: PROFILES,
    load: true,
    async run(session) {
      const parameters = await session.parameters()
      const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => session.post(parameters)))
      const won = answers.filter(({ body }) => body?.access_token !== undefined).length
      if (won !== 1) throw new Failed(`${won} of ${AT_ONCE} requests were granted`)
      holds(
        answers.every(({ status }) => status < 500),
        'the server failed for some of them',
      )
    },
  },
  {
    id: 'single-use.refusal-spends-nothing',
    says: 'A request that is refused leaves the subject token usable: otherwise a mistake, or a stranger, ends it.',
    source: 'CWE-696',
    level: 'advisory',
    profiles: PROFILES,
    async run(session) {
      const subject = await session.subjectParameters('valid')
      for (const wrong of [
        { requested_token_type: 'urn:example:unknown' },
        { scope: 'token-exchange-suite' },
      ]) {
        const { body } = await session.exchange({ ...subject, ...wrong })
        if (body?.access_token !== undefined) throw new Skipped('the wrong request is granted')
      }
      granted(await session.exchange(subject))
    },
  },
  {
    id: 'single-use.replay-ends-token',
    says: 'A second use ends the token of the first one, because one of the two was a thief.',
    source: 'RFC 6749 §4.1.2 (there of codes)',
    level: 'SHOULD',
    profiles: ['single-use', 'opaque', 'introspection'],
    async run(session) {
      const target = session.targetOf('opaque')
      const subject = await session.subjectParameters('valid')
      const { token } = granted(await session.exchange(subject, { target }))
      holds((await session.introspect(token)).active === true, 'the token is not active to begin with')
      refused(session, await session.exchange(subject, { target }), 'invalid_request', BAD_TOKEN)
      holds((await session.introspect(token)).active === false, 'the token is still active')
    },
  },
]
