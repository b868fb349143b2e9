/** Where the new token may be used: RFC 8693 §2.1.1 and RFC 8707. */
import type { Check } from '../check.ts'
import { UNKNOWN_TARGET } from '../constants.ts'
import { audiencesOf, BAD_TARGET, equal, granted, holds, refused } from '../expect.ts'
import type { Answer } from '../http.ts'
import type { Session } from '../session.ts'

const ROW = { level: 'MUST', profiles: ['resource'] } as const

/** Values of `resource` that are not absolute URIs without fragment, or only look like the known one. */
const malformed = (known: string): Readonly<Record<string, readonly string[]>> => ({
  relative: ['/api', 'api', '//api.example.com', 'api.example.com'],
  fragment: [`${known}#fragment`, `${known}#`],
})

const resourceOf = (session: Session): string => session.target.parameters.resource ?? session.target.audience

async function assertRefused(session: Session, resource: string): Promise<void> {
  refused(session, await session.exchange({ resource }), 'invalid_target', BAD_TARGET)
}

async function assertNotCopied(session: Session, answer: Answer): Promise<void> {
  if (answer.status !== 200) return
  const audiences = audiencesOf(await session.claims(granted(answer)))
  holds(!audiences.includes(UNKNOWN_TARGET), 'the token is for a target that the server does not know')
}

export const targetChecks: readonly Check[] = [
  {
    id: 'target.audience',
    says: 'The token is for the target that was requested, and for no other.',
    source: 'RFC 8693 §2.1, RFC 9068 §3',
    level: 'MUST',
    async run(session) {
      const audiences = audiencesOf(await session.claims(await session.sample()))
      equal('the number of audiences', audiences.length, 1)
      equal('aud', audiences[0], session.target.audience)
    },
  },
  {
    ...ROW,
    id: 'target.unknown-resource',
    says: 'A resource that the server does not know is refused with invalid_target.',
    source: 'RFC 8693 §2.2.2, RFC 8707 §2',
    level: 'SHOULD',
    async run(session) {
      await assertRefused(session, UNKNOWN_TARGET)
    },
  },
  {
    id: 'target.unknown-audience',
    says: 'An audience that the server does not know is refused, not ignored.',
    source: 'RFC 8693 §2.2.2',
    level: 'SHOULD',
    async run(session) {
      refused(session, await session.exchange({ audience: UNKNOWN_TARGET }), 'invalid_target', BAD_TARGET)
    },
  },
  {
    id: 'target.audience-not-copied',
    says: 'A value of audience or resource is not copied into the token unless the server knows it.',
    source: 'CWE-863; github.com/thunder-id/thunderid issue 2861',
    level: 'advisory',
    async run(session) {
      await assertNotCopied(session, await session.exchange({ audience: UNKNOWN_TARGET }))
      await assertNotCopied(session, await session.exchange({ resource: UNKNOWN_TARGET }))
    },
  },
  ...(['relative', 'fragment'] as const).map(
    (name): Check => ({
      ...ROW,
      id: `target.${name}`,
      says:
        name === 'relative'
          ? 'resource must be an absolute URI.'
          : 'resource must not have a fragment, not even an empty one.',
      source: 'RFC 8707 §2',
      async run(session) {
        for (const resource of malformed(resourceOf(session))[name] ?? [])
          await assertRefused(session, resource)
      },
    }),
  ),
  {
    ...ROW,
    id: 'target.look-alike',
    says: 'Resources are compared as a whole: one that begins with a known one is another.',
    source: 'RFC 8707 §2, CWE-187',
    level: 'advisory',
    async run(session) {
      const known = resourceOf(session)
      for (const resource of [`${known}.attacker.example`, `${known}/../admin`, `${known}@attacker.example`])
        await assertRefused(session, resource)
    },
  },
  {
    ...ROW,
    id: 'target.two-resources',
    says: 'Of two resources neither is left aside: the token is for both, or the request is refused.',
    source: 'RFC 8693 §2.1.1, RFC 8707 §2.2',
    level: 'SHOULD',
    async run(session) {
      const answer = await session.exchange({ resource: [resourceOf(session), UNKNOWN_TARGET] })
      refused(session, answer, 'invalid_target', BAD_TARGET)
    },
  },
  {
    ...ROW,
    id: 'target.two-known-resources',
    says: 'Two resources that the server knows: the token is for both, or the request is refused.',
    source: 'RFC 8693 §2.1.1, RFC 8707 §2.2',
    level: 'SHOULD',
    async run(session) {
      const [one, other] = [session.targetOf('jwt'), session.targetOf('opaque')]
      const resource = [one, other].map(({ parameters, audience }) => parameters.resource ?? audience)
      const answer = await session.exchange({ resource })
      if (answer.status !== 200) return refused(session, answer, 'invalid_target', BAD_TARGET)
      const audiences = audiencesOf(await session.claims(granted(answer)))
      holds(
        audiences.includes(one.audience) && audiences.includes(other.audience),
        'one of the two was left aside',
      )
    },
  },
  {
    ...ROW,
    id: 'target.order-of-two',
    says: 'An unknown resource is refused in the first place as in the last.',
    source: 'RFC 8707 §2',
    level: 'SHOULD',
    async run(session) {
      const answer = await session.exchange({ resource: [UNKNOWN_TARGET, resourceOf(session)] })
      refused(session, answer, 'invalid_target', BAD_TARGET)
    },
  },
]
