/** Calls that meet: two of one token at the same moment, again and again, and what was before what. */
import { setImmediate as turn } from 'node:timers/promises'

/** A call that was answered, and the moments between which it ran. */
export interface Call<Answer> {
  readonly answer: Answer
  readonly began: number
  readonly ended: number
}

let moment = 0

/** Makes a call, and notes when it began and when it was answered. */
export async function timed<Answer>(call: () => Promise<Answer>): Promise<Call<Answer>> {
  moment += 1
  const began = moment
  const answer = await call()
  moment += 1
  return { answer, began, ended: moment }
}

export const isBefore = (one: Call<unknown>, other: Call<unknown>): boolean => one.ended < other.began

/** When a second call begins: some ticks or turns of the event loop after the first; none is the same turn. */
interface Delay {
  readonly ticks?: number
  readonly turns?: number
  readonly milliseconds?: number
}

const DELAYS: readonly Delay[] = [
  ...Array(5).fill({}),
  { ticks: 1 },
  { ticks: 2 },
  { ticks: 4 },
  { turns: 1 },
  { turns: 2 },
  { turns: 3 },
  { turns: 5 },
]

/** Parts of the time that the first of two calls takes alone, after which the second begins. */
const PARTS = [0.1, 0.3, 0.5, 0.7, 0.9]

async function delayed<Answer>(delay: Delay, call: () => Promise<Answer>): Promise<Answer> {
  const { ticks = 0, turns = 0, milliseconds = 0 } = delay
  const end = performance.now() + milliseconds
  for (let count = 0; count < ticks; count += 1) await null
  for (let count = 0; count < turns; count += 1) await turn()
  while (performance.now() < end) await turn()
  return call()
}

/** Two calls about one subject, and what they answered. */
export interface Meeting<Subject, One, Other> {
  readonly subject: Subject
  readonly one: Call<One>
  readonly other: Call<Other>
}

/** Two calls of a subject, the one first. */
interface Calls<Subject, One, Other> {
  create(): Promise<Subject>
  one(subject: Subject): Promise<One>
  other(subject: Subject): Promise<Other>
}

/**
 * Makes both calls of each of many subjects at the same moment, the one first and the other first: all subjects at once,
 * as calls come to a server, and then subject by subject, the second call at one part or another of the first one's way.
 */
export async function meet<Subject, One, Other>(
  create: () => Promise<Subject>,
  one: (subject: Subject) => Promise<One>,
  other: (subject: Subject) => Promise<Other>,
): Promise<Meeting<Subject, One, Other>[]> {
  const [calls, turned] = [
    { create, one, other },
    { create, one: other, other: one },
  ]
  const [first, second] = await Promise.all([meetAtOnce(calls), meetAtOnce(turned)])
  const met = [...second, ...(await meetUnderWay(turned))]
  return [
    ...first,
    ...(await meetUnderWay(calls)),
    ...met.map((meeting) => ({ ...meeting, one: meeting.other, other: meeting.one })),
  ]
}

async function meetAtOnce<Subject, One, Other>(
  calls: Calls<Subject, One, Other>,
): Promise<Meeting<Subject, One, Other>[]> {
  const subjects = await Promise.all(DELAYS.map(() => calls.create()))
  return Promise.all(subjects.map((subject, index) => meetOnce(calls, subject, DELAYS[index] ?? {})))
}

/** After a first meeting of one call after the other, which tells how long the first takes. */
async function meetUnderWay<Subject, One, Other>(
  calls: Calls<Subject, One, Other>,
): Promise<Meeting<Subject, One, Other>[]> {
  const subject = await calls.create()
  const began = performance.now()
  const one = await timed(() => calls.one(subject))
  const whole = performance.now() - began
  const other = await timed(() => calls.other(subject))
  const meetings: Meeting<Subject, One, Other>[] = [{ subject, one, other }]
  for (const part of PARTS)
    meetings.push(await meetOnce(calls, await calls.create(), { milliseconds: whole * part }))
  return meetings
}

async function meetOnce<Subject, One, Other>(
  calls: Calls<Subject, One, Other>,
  subject: Subject,
  delay: Delay,
): Promise<Meeting<Subject, One, Other>> {
  const [one, other] = await Promise.all([
    timed(() => calls.one(subject)),
    delayed(delay, () => timed(() => calls.other(subject))),
  ])
  return { subject, one, other }
}

/** Looks now, after each of the delays, and again and again until the call that is looked at has answered. */
export async function during(call: () => Promise<unknown>, look: () => Promise<void>): Promise<void> {
  let runs = true
  const called = call().finally(() => {
    runs = false
  })
  const lookOn = async () => {
    while (runs) {
      await turn()
      await look()
    }
  }
  await Promise.all([called, ...DELAYS.map((delay) => delayed(delay, look)), lookOn()])
}
