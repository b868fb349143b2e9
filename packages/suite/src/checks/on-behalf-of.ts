/** An API exchanges the token that it received, in order to call the next one: RFC 8693 §1.1 and appendix A.2. */
import { type Check, Failed, Skipped } from '../check.ts'
import { actOf, audiencesOf, equal, granted, holds, turnedAway } from '../expect.ts'
import { readJwt } from '../jwt.ts'
import type { Session } from '../session.ts'

const ROW = { level: 'SHOULD', profiles: ['on-behalf-of'] } as const

const clientAsActor = ({ driver }: Session): string => driver.clientAsActor ?? driver.clients.main.id

/** The claims of the subject token, where they can be seen. */
async function subjectAndChild(session: Session) {
  const subject = await session.subject('valid')
  const parent = await session.claims({
    token: subject.token,
    answer: { status: 200, headers: new Headers(), text: '', body: {} },
  })
  const parameters = { subject_token: subject.token, subject_token_type: subject.type }
  const child = await session.claims(granted(await session.exchange(parameters)))
  return { parent, child }
}

export const onBehalfOfChecks: readonly Check[] = [
  {
    ...ROW,
    id: 'on-behalf-of.act',
    says: 'The new token says that the API acts: act names the client.',
    source: 'RFC 8693 §1.1, §4.1',
    level: 'BCP',
    async run(session) {
      const act = actOf(await session.claims(await session.sample()))
      holds(act !== undefined, 'the token has no act: it looks as if the user had called')
      equal('act.sub', act.sub, clientAsActor(session))
    },
  },
  {
    ...ROW,
    id: 'on-behalf-of.chain',
    says: 'Who acted before is kept: the act of the subject token is nested in the new one.',
    source: 'RFC 8693 §4.1',
    level: 'MUST',
    profiles: ['on-behalf-of', 'chains'],
    async run(session) {
      const subject = await session.subjectParameters('chain')
      const claims = await session.claims(granted(await session.exchange(subject)))
      const act = actOf(claims)
      holds(act !== undefined, 'the token has no act')
      equal('act.sub', act.sub, clientAsActor(session))
      const earlier = session.driver.earlierActor
      if (earlier === undefined) throw new Skipped('the driver does not name earlierActor')
      equal('act.act.sub', actOf(act)?.sub, earlier)
    },
  },
  {
    ...ROW,
    id: 'on-behalf-of.expiry',
    says: 'The new token does not outlive the one it was made from.',
    source: 'RFC 8693 §5, RFC 9700 §2.3; CVE-2026-96460',
    level: 'BCP',
    async run(session) {
      const { parent, child } = await subjectAndChild(session)
      holds(
        Number(child.exp) <= Number(parent.exp),
        `it lives ${Number(child.exp) - Number(parent.exp)} s longer`,
      )
    },
  },
  {
    ...ROW,
    id: 'on-behalf-of.audience',
    says: 'The new token is for the next API, and no longer for this one.',
    source: 'RFC 9700 §2.3',
    level: 'BCP',
    async run(session) {
      const { parent, child } = await subjectAndChild(session)
      const shared = audiencesOf(child).filter((audience) => audiencesOf(parent).includes(audience))
      holds(shared.length === 0, 'both tokens are for the same API')
    },
  },
  {
    ...ROW,
    id: 'on-behalf-of.binding-kept',
    says: 'A token that is bound to a key is not turned into one that anyone can use.',
    source: 'RFC 9700 §2.2.1, RFC 9449 §7',
    level: 'BCP',
    profiles: ['on-behalf-of', 'dpop'],
    async run(session) {
      const key = await session.key()
      const answer = await session.exchange(await session.subjectParameters('bound', key))
      if (answer.status !== 200) return turnedAway(answer)
      const { cnf } = await session.claims(granted(answer))
      holds(cnf !== undefined, 'the subject token had a cnf, and the new one has none')
    },
  },
  {
    ...ROW,
    id: 'on-behalf-of.binding-proven',
    says: 'With a proof of its own key the API gets a token that is bound to that key.',
    source: 'RFC 9449 §5',
    level: 'MUST',
    profiles: ['on-behalf-of', 'dpop'],
    after: 'dpop.binds',
    async run(session) {
      const [key, own] = [await session.key(), await session.key()]
      const subject = await session.subjectParameters('bound', key)
      const answer = await session.exchange(subject, { headers: await session.proof(own) })
      const { cnf } = await session.claims(granted(answer))
      equal('cnf.jkt', (cnf as { jkt?: unknown } | undefined)?.jkt, own.jkt)
    },
  },
  {
    ...ROW,
    id: 'on-behalf-of.child-is-its-own',
    says: 'The API that made a token cannot exchange it again: it was made for another API.',
    source: 'RFC 9700 §2.3',
    level: 'BCP',
    async run(session) {
      const { token } = await session.sample()
      if (!readJwt(token)) throw new Skipped('the new token is opaque')
      const answer = await session.exchange({ subject_token: token })
      if (answer.body?.access_token !== undefined) throw new Failed('it was exchanged')
      turnedAway(answer)
    },
  },
]
