/** Pairs of calls of one token that meet at a gate, in different processes: exchanges, stops and replays. */
import type { Sequelize } from 'sequelize'
import type { Answer, Racers } from '../../../fixtures/racers.ts'
import { createSubjectTokenStore } from '../../../src/sequelize/index.ts'
import { type Fault, judge, SENTENCES } from './judge.ts'
import { FORMS, type Form, KINDS, type Kind, Pair, winnerOf } from './pair.ts'
import { LONG } from './race.ts'

/** `npm run race -- --pairs 500`. */
export const PAIRS = Number(process.env.RACE_PAIRS ?? (LONG ? 10_000 : 288))

const LANES = 8

interface Tally {
  pairs: number
  /** Both were at the gate before either wrote. */
  met: number
  /** Neither was answered before the other one began to write. */
  overlapping: number
  /** Won by the one, and by the other. */
  one: number
  other: number
  readonly faults: Partial<Record<Fault, number>>
  readonly errors: string[]
}

export type Tallies = ReadonlyMap<string, Tally>

interface Course {
  readonly racers: Racers
  /** Another pool on the same database, which reads what every process has written. */
  readonly sequelize: Sequelize
  readonly pairs: number
}

interface Heat {
  readonly kind: Kind
  readonly form: Form
}

function* heatsOf(pairs: number): Generator<Heat> {
  for (let number = 0; ; )
    for (const form of FORMS)
      for (const kind of KINDS) {
        if (number === pairs) return
        number += 1
        yield { kind, form }
      }
}

export async function racePairs({ racers, sequelize, pairs }: Course): Promise<Tallies> {
  const store = createSubjectTokenStore(sequelize)
  const tallies = new Map<string, Tally>()
  const leads = new Map<Kind, Lead>()
  const raceOne = async ({ kind, form }: Heat) => {
    const tally = tallies.get(kind.name) ?? {
      pairs: 0,
      met: 0,
      overlapping: 0,
      one: 0,
      other: 0,
      faults: {},
      errors: [],
    }
    tallies.set(kind.name, tally)
    const lead = leads.get(kind) ?? new Lead()
    leads.set(kind, lead)
    const pair = new Pair(store, kind, form)
    const { met, answers } = await pair.race(racers, lead.delays())
    const aftermath = await pair.aftermath(answers)
    tally.pairs += 1
    if (met) tally.met += 1
    if (overlap(answers)) tally.overlapping += 1
    for (const fault of judge(aftermath)) tally.faults[fault] = (tally.faults[fault] ?? 0) + 1
    tally.errors.push(...answers.flatMap(({ error }) => error ?? []))
    const winner = winnerOf(kind, answers, aftermath.found)
    tally[winner] += 1
    lead.learn(winner, answers)
  }
  const heats = heatsOf(pairs)
  const lane = async () => {
    for (const heat of heats) await raceOne(heat)
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  return tallies
}

/** Part of the time that a call takes by which a side comes later for each time that it has won in a row. */
const STEP = 0.1

/** Finds the delays with which two calls run into each other, and either of them may win. Times are milliseconds. */
class Lead {
  /** By how much the one comes later; the other one, below 0. */
  #lead = 0
  #inRow = 0
  /** How long a call takes behind the gate. */
  #length = 2

  delays(): [one: number, other: number] {
    const scatter = () => Math.random() * this.#length
    return [Math.max(0, this.#lead) + scatter(), Math.max(0, -this.#lead) + scatter()]
  }

  learn(winner: 'one' | 'other', answers: readonly Answer[]): void {
    const sign = winner === 'one' ? 1 : -1
    this.#inRow = Math.sign(this.#inRow) === sign ? this.#inRow + sign : sign
    this.#lead += this.#inRow * STEP * this.#length
    const shortest = Math.min(...answers.map(({ began, ended }) => ended - began))
    this.#length = 0.9 * this.#length + 0.1 * shortest
  }
}

const overlap = ([one, other]: readonly [Answer, Answer]): boolean =>
  one.began < other.ended && other.began < one.ended

/** One line for each kind, and what was wrong in words. */
export function linesOf(tallies: Tallies): string[] {
  return [...tallies].map(([name, { pairs, met, overlapping, one, other, faults, errors }]) => {
    const wrong = Object.entries(faults).map(([fault, count]) => `${count} ×: ${SENTENCES[fault as Fault]}`)
    return [
      `${name}: ${pairs} pairs, ${met} met, ${overlapping} overlapping, ${one} : ${other}`,
      ...wrong,
      ...new Set(errors),
    ].join('; ')
  })
}
