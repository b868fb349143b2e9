/** A rule of docs/protocol.md by its id, and what it means at each door and in each form. */
import type { Scene } from './scene.ts'

/** Prepares, requests, or expects. */
export type Step = (scene: Scene) => unknown
/** Steps, some of which are several. */
export type Steps = readonly (Step | Steps)[]
/** A request, what is answered, and what the record says afterwards; or why there is no such request. */
export type Cell = Steps | string
export type Cells<Form extends string> = Readonly<Record<Form, Cell>>

/** A row of the matrix. */
export interface Rule {
  /** The ids in docs/protocol.md of the rules that it holds and, where a rule has several rows, what this one is about. */
  readonly title: string
  readonly cells: Readonly<Record<string, Cell>>
}

/** Makes rows that have a cell for each of these forms. A title begins with the ids of the rules that one request shows. */
export const rowsOf =
  <const Form extends string>(_forms: readonly Form[]) =>
  (title: string, cells: Cells<Form>): Rule => ({ title, cells })

/** A cell for each of these forms. */
export const each = <const Form extends string>(
  forms: readonly Form[],
  cellOf: (form: Form) => Cell,
): Cells<Form> => Object.fromEntries(forms.map((form) => [form, cellOf(form)])) as Cells<Form>

export type Named<Value> = Readonly<Record<string, Value>>

/** A cell for each named value. */
export function values<Value>(
  title: string,
  named: Named<Value>,
  cell: (value: Value, name: string) => Cell,
): Rule {
  const names = Object.keys(named)
  return rowsOf(names)(
    title,
    each(names, (name) => cell(named[name] as Value, name)),
  )
}

/** A cell for each text, which is its own name. */
export const texts = (title: string, all: readonly string[], cell: (text: string) => Cell): Rule =>
  values(title, Object.fromEntries(all.map((text) => [JSON.stringify(text).slice(0, 60), text])), cell)

/** A cell that begins with this step, unless it is the reason why there is none. */
export const first = (step: Step, cell: Cell): Cell => (typeof cell === 'string' ? cell : [step, cell])

const ANSWERS = new WeakSet<Step>()
const RECORDS = new WeakSet<Step>()

/** Marks a step that says what is answered. */
export function answer(step: Step): Step {
  ANSWERS.add(step)
  return step
}

/** Marks a step that says what the record says afterwards. */
export function record(step: Step): Step {
  RECORDS.add(step)
  return step
}

export const stepsOf = (steps: Steps): Step[] =>
  steps.flatMap((step) => (typeof step === 'function' ? [step] : stepsOf(step)))

/** Whether a cell says both. */
export const isComplete = (steps: Steps): boolean =>
  [ANSWERS, RECORDS].every((said) => stepsOf(steps).some((step) => said.has(step)))
