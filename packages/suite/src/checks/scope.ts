/** The scope of the new token: RFC 6749 §3.3. */
import { type Check, Skipped } from '../check.ts'
import { BAD_SCOPE, granted, holds, refused, scopesOf } from '../expect.ts'
import type { Answer } from '../http.ts'
import type { Session } from '../session.ts'

/** The granted scope: of the token, or else of the response, which may leave out what was asked for. Nothing for a refusal. */
async function grantedScope(session: Session, answer: Answer, requested = ''): Promise<string[]> {
  if (answer.status !== 200) {
    refused(session, answer, 'invalid_scope', BAD_SCOPE)
    return []
  }
  const given = granted(answer)
  const inToken = await session.claims(given).then(
    ({ scope }) => scope,
    () => undefined,
  )
  return scopesOf(inToken ?? given.answer.body?.scope ?? requested)
}

const first = (session: Session): string => session.target.scopes[0] ?? ''

function second(session: Session): string {
  const [, scope] = session.target.scopes
  if (scope === undefined) throw new Skipped('the target has one scope')
  return scope
}

/** A request for one name that must not be granted. */
async function assertNeverGranted(session: Session, name: string): Promise<void> {
  const answer = await session.exchange({ scope: name })
  // RFC 6749 §3.3: the server may ignore the request, if it says so.
  holds(!(await grantedScope(session, answer)).includes(name), `"${name}" was granted`)
}

export const scopeChecks: readonly Check[] = [
  {
    id: 'scope.narrowed',
    says: 'No more than what was asked for is granted.',
    source: 'RFC 6749 §3.3',
    level: 'MUST',
    async run(session) {
      second(session)
      const scope = await grantedScope(session, await session.exchange({ scope: first(session) }))
      holds(scope.join() === first(session), `asked for ${first(session)}, granted ${scope.join(' ')}`)
    },
  },
  {
    id: 'scope.as-asked',
    says: 'Several scopes that are all permitted are all granted, or the response says which are.',
    source: 'RFC 6749 §3.3; zitadel#12319',
    level: 'MUST',
    async run(session) {
      const asked = `${second(session)} ${first(session)}`
      const { answer } = granted(await session.exchange({ scope: asked }))
      const scope = scopesOf(answer.body?.scope ?? asked)
      holds(
        scope.length > 0 && scope.every((name) => asked.split(' ').includes(name)),
        'another scope was granted',
      )
    },
  },
  {
    id: 'scope.token-agrees',
    says: 'The scope in the token is the one of the response.',
    source: 'RFC 9068 §2.2.3, RFC 7662 §2.2',
    level: 'SHOULD',
    async run(session) {
      const sample = await session.sample()
      const { scope } = await session.claims(sample)
      const told = scopesOf(sample.answer.body?.scope ?? first(session))
      holds(scopesOf(scope).sort().join() === told.sort().join(), `the token has "${String(scope)}"`)
    },
  },
  {
    id: 'scope.unknown',
    says: 'A scope that the target does not know is not granted.',
    source: 'RFC 6749 §3.3, §5.2',
    level: 'MUST',
    async run(session) {
      await assertNeverGranted(session, 'token-exchange-suite')
    },
  },
  {
    id: 'scope.part-of-a-name',
    says: 'Scopes are compared as whole names: a part of a name is another scope.',
    source: 'RFC 6749 §3.3',
    level: 'MUST',
    async run(session) {
      const name = first(session)
      for (const part of [name.slice(0, -1), name.slice(1), `${name}x`])
        await assertNeverGranted(session, part)
    },
  },
  {
    id: 'scope.case',
    says: 'Scopes are case-sensitive.',
    source: 'RFC 6749 §3.3',
    level: 'MUST',
    async run(session) {
      const name = first(session)
      const other = name === name.toUpperCase() ? name.toLowerCase() : name.toUpperCase()
      if (other === name) throw new Skipped('the scope has no letters')
      await assertNeverGranted(session, other)
    },
  },
  {
    id: 'scope.ceiling',
    says: 'The scope does not grow beyond what the subject token permits.',
    source: 'RFC 8693 §5, RFC 9700 §2.3; CVE-2026-56668',
    level: 'BCP',
    async run(session) {
      const [inside, outside] = [first(session), second(session)]
      const narrow = await session.subjectParameters('narrow')
      const answer = await session.exchange({ ...narrow, scope: `${inside} ${outside}` })
      const scope = await grantedScope(session, answer, `${inside} ${outside}`)
      holds(!scope.includes(outside), `"${outside}" was granted`)
    },
  },
  {
    id: 'scope.ceiling-of-default',
    says: 'Without a scope in the request, too, nothing beyond the subject token is granted.',
    source: 'RFC 8693 §5, RFC 9700 §2.3',
    level: 'BCP',
    async run(session) {
      const outside = second(session)
      const narrow = await session.subjectParameters('narrow')
      const scope = await grantedScope(session, await session.exchange({ ...narrow, scope: null }))
      holds(!scope.includes(outside), `"${outside}" was granted`)
    },
  },
]
