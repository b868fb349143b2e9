/** What must be true of a token after two calls have met: judged by what each call returned, and by the record. */
import { isDeepStrictEqual } from 'node:util'
import type { Answer } from '../../../fixtures/racers.ts'
import type { SubjectToken } from '../../../src/tokens/subject-token.ts'

/** A call that was to spend the token. */
type Spend = Pick<Answer, 'client' | 'began' | 'won'>

export interface Aftermath {
  /** The calls that met. */
  readonly answers: readonly [one: Answer, other: Answer]
  /** What was before or after them. */
  readonly spends: readonly Spend[]
  /** The record. */
  readonly found: SubjectToken
  readonly links: readonly Link[]
}

/** An actor behind the newest one, in the chain that this client sent, and whether the record is found by that name. */
interface Link {
  readonly client: string
  readonly isFound: boolean
}

export const SENTENCES = {
  twice: 'no token is spent twice',
  unspent: 'a token that no one stops is spent',
  afterStop: 'no token is spent after a stop was answered without a use',
  missed: 'no stop misses the use',
  links: 'the record of a use is found by every link of its chain, and by no link of another',
  reports: 'each stop is reported once',
  replays: 'each use of a spent token is a replay, and one replay is on the record',
  record: 'the record says what the calls returned',
} as const

export type Fault = keyof typeof SENTENCES

type Rule = (aftermath: Aftermath) => boolean

const stopsIn = ({ answers }: Aftermath) => answers.filter(({ returned }) => returned !== undefined)
const spendsIn = ({ answers, spends }: Aftermath): readonly Spend[] => [...answers, ...spends]
const winnerIn = (aftermath: Aftermath) => spendsIn(aftermath).find(({ won }) => won)
const replaysIn = ({ answers }: Aftermath) => answers.filter(({ replayed }) => replayed !== undefined)

/** Stops that returned no use, although the token is spent. */
const stopsWithoutUse = (aftermath: Aftermath): readonly Answer[] =>
  winnerIn(aftermath)
    ? stopsIn(aftermath).filter(({ returned }) => !returned?.some(({ token }) => token.use))
    : []

const isAnswered = (stop: Answer, spend: Spend | undefined): boolean =>
  spend !== undefined && stop.ended < spend.began

const BROKEN: Readonly<Record<Fault, Rule>> = {
  twice: (aftermath) => spendsIn(aftermath).filter(({ won }) => won).length > 1,

  unspent: (aftermath) => stopsIn(aftermath).length === 0 && !winnerIn(aftermath),

  afterStop: (aftermath) => stopsWithoutUse(aftermath).some((stop) => isAnswered(stop, winnerIn(aftermath))),

  missed: (aftermath) => stopsWithoutUse(aftermath).some((stop) => !isAnswered(stop, winnerIn(aftermath))),

  links: (aftermath) =>
    aftermath.links.some(({ client, isFound }) => isFound !== (client === winnerIn(aftermath)?.client)),

  reports(aftermath) {
    const told = aftermath.answers.filter(({ reported, replayed }) => reported || replayed).length
    const stopped = stopsIn(aftermath).length + replaysIn(aftermath).length > 0
    return told !== (stopped ? 1 : 0)
  },

  replays(aftermath) {
    const { replay } = aftermath.found
    const replays = replaysIn(aftermath)
    const losers = aftermath.answers.filter(({ won }) => won === false)
    if (winnerIn(aftermath) && losers.some(({ replayed }) => replayed === undefined)) return true
    if (replays.length === 0) return replay !== undefined
    const stopping = replays.find(({ replayed }) => replayed)
    return !(stopping ? [stopping] : replays).some(({ client }) => client === replay?.clientId)
  },

  record(aftermath) {
    const { use, revocation } = aftermath.found
    if (use?.clientId !== winnerIn(aftermath)?.client) return true
    const stops = stopsIn(aftermath)
    const byReplay = replaysIn(aftermath).some(({ replayed }) => replayed)
    const causes = byReplay ? [{ cause: 'replay' }] : stops.map(({ client }) => ({ cause: 'api', client }))
    if (causes.length > 0 && !causes.some((cause) => isDeepStrictEqual(cause, revocation))) return true
    return stops.some(({ returned = [] }) =>
      returned.some(({ token }) => !isDeepStrictEqual(token.revocation, revocation)),
    )
  },
}

const FAULTS = Object.keys(SENTENCES) as Fault[]

/** The sentences that are not true. */
export const judge = (aftermath: Aftermath): Fault[] => FAULTS.filter((fault) => BROKEN[fault](aftermath))
