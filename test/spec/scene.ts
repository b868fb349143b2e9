/** One cell at work: what its steps have prepared, requested and seen. */
import { inspect } from 'node:util'
import { expect } from 'chai'
import { QueryTypes } from 'sequelize'
import { actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { type StoppedClock, stopClock } from '../../fixtures/clock.ts'
import type { RecordedEvent } from '../../fixtures/deployment.ts'
import type { HttpResponse, Parameters } from '../../fixtures/http.ts'
import { ACKNOWLEDGEMENTS, STOPS, type Table, USES } from '../../src/sequelize/tables.ts'
import { hashToken, type SubjectTokenText } from '../../src/tokens/secret.ts'
import type { Door, Of, Sender } from './exchanging.ts'
import { type Steps, stepsOf } from './rule.ts'
import { type Setting, type SettingName, settingOf } from './settings.ts'

/** How things stood before the last request. */
interface Before {
  readonly events: number
  readonly statements: number
  readonly calls: number
  readonly errors: number
  readonly logged: number
  readonly row: unknown
}

/** The columns that another table adds, each by the name of both. */
const added = ({ name, columns }: Pick<Table, 'name' | 'columns'>) =>
  Object.keys(columns).map((column) => `${name}.${column} AS "${name}.${column}"`)
const ADDED = [USES, STOPS, ACKNOWLEDGEMENTS]
/** One row, or one for each acknowledgement. Every request reads it, so it is one statement. */
const WHOLE_RECORD = `SELECT t.*, ${ADDED.flatMap(added).join(', ')} FROM subject_tokens t
  ${ADDED.map(({ name }) => `LEFT JOIN ${name} ON ${name}.token_id = t.id`).join(' ')} WHERE t.id = :id`

const NOTHING_REQUESTED: HttpResponse = { status: 0, headers: new Headers(), text: '', body: undefined }

/** With everything that an operator who logs an error could read of it. */
const whole = (error: unknown): string =>
  inspect(error, { depth: 8, showHidden: true, getters: true, maxStringLength: null, maxArrayLength: null })

export class Scene {
  readonly #settings: Setting[] = []
  #clock: StoppedClock | undefined
  /** Of the last request. */
  response: HttpResponse = NOTHING_REQUESTED
  before: Before = { events: 0, statements: 0, calls: 0, errors: 0, logged: 0, row: undefined }
  door: Door = 'a subject token'
  /** Members of the issuance. */
  issuing: Readonly<Record<string, unknown>> = {}
  /** Of what an API has received. */
  scope = 'openid orders:read'
  /** Who acts in it: parameters of the exchange that it came from. */
  acting: Of<Parameters> = ({ setting }) => actorToken(setting).then(withActor)
  /** Who sent that exchange. */
  application: Of<Sender> = {}
  /** Of the record. Empty while there is none. */
  id = ''
  subjectToken = ''
  /** What an API has received. */
  received = ''
  /** Of the record: whom a kill switch may name. */
  people = { userId: '', actorId: '', createdBy: '' }
  /** What is put back at the end. */
  readonly undo: (() => void)[] = []
  /** What steps leave for those after them. */
  readonly kept: Record<string, string> = {}
  /** What was sent, and what no one is told. */
  readonly secrets = new Set<string>()
  /** The host throws an error that says what was sent: it knows what it said itself. */
  hostQuotes = false

  get setting(): Setting {
    return this.#settings.at(-1) ?? expect.fail('the scene has no setting yet')
  }

  async move(name: SettingName): Promise<void> {
    this.#settings.push(await settingOf(name))
  }

  /** Time stands still from the first call on. */
  pass(seconds: number): void {
    this.#clock ??= stopClock()
    this.#clock.tick(seconds)
  }

  /** As when someone corrects a clock that was ahead. */
  setBack(seconds: number): void {
    this.#clock?.setBack(seconds)
  }

  stopClockAt(time: number): void {
    this.#clock = stopClock(time)
  }

  /** Every request goes this way, so that what it changed can be told, and that it tells no token to anyone. */
  async request(send: () => Promise<HttpResponse>): Promise<HttpResponse> {
    const { events, database, calls, errors, logged } = this.setting
    const before = {
      row: await this.row(),
      events: events.length,
      calls: calls.length,
      errors: errors.length,
      logged: logged.length,
      statements: database.statements.length,
    }
    const response = await send()
    // After it: another request may have come in between.
    Object.assign(this, { before, response })
    this.#expectSecrecy()
    return response
  }

  /** No event, error or statement since the request has a token in it, or the hash of one (V2, E55). */
  #expectSecrecy(): void {
    const { body } = this.response
    const { accessToken, token } = this.kept
    const tokens = [this.subjectToken, this.received, accessToken, token]
    for (const text of [...tokens, body?.access_token, body?.subjectToken])
      if (typeof text === 'string' && text !== '') this.secrets.add(text)
    const { errors, logged } = this.setting
    const failures = this.hostQuotes
      ? []
      : [...errors.slice(this.before.errors), ...logged.slice(this.before.logged)]
    const places = { events: JSON.stringify(this.events), statements: this.statements.join('\n') }
    const told = Object.entries({ ...places, errors: failures.map(whole).join('\n') })
    for (const secret of this.secrets)
      for (const [place, text] of told)
        for (const one of [secret, hashToken(secret as SubjectTokenText)])
          expect(text.includes(one), `${place}: ${one.slice(0, 20)}`).to.equal(false)
  }

  /** The record as the database holds it: the row of the token with every column, and what was added to it. */
  async row(): Promise<unknown> {
    if (this.id === '') return undefined
    const [row, ...others] = await this.setting.database.sequelize.query<object>(WHOLE_RECORD, {
      type: QueryTypes.SELECT,
      replacements: { id: Buffer.from(this.id, 'hex') },
    })
    return row && { ...row, others }
  }

  /** Its place in the status lists. */
  async index(): Promise<number> {
    return Number(Object(await this.row()).number)
  }

  /** Since the last request. */
  get events(): readonly RecordedEvent[] {
    return this.setting.events.slice(this.before.events)
  }

  get calls(): readonly string[] {
    return this.setting.calls.slice(this.before.calls)
  }

  get statements(): readonly string[] {
    return this.setting.database.statements.slice(this.before.statements)
  }

  close(): void {
    for (const putBack of this.undo) putBack()
    this.#clock?.restore()
    for (const setting of this.#settings) {
      setting.functions = {}
      setting.gone.clear()
      setting.instead.clear()
      // No statement matches.
      setting.overtake(/(?!)/, async () => {})
      setting.lose(/(?!)/)
    }
  }
}

/** Plays the steps of a cell, one after the other. */
export async function play(steps: Steps): Promise<void> {
  const scene = new Scene()
  await scene.move('usual')
  try {
    for (const step of stepsOf(steps)) await step(scene)
  } finally {
    scene.close()
  }
}
