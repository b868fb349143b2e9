/** The steps of the schema. The tables grow by them, while people work. */
import { createHash } from 'node:crypto'
import { epochTime } from '../../clock.ts'
import type { Dialect } from '../database/dialect.ts'
import { columnsOf, LEASE, MODELS, RECORDS_VIEW, STEPS, type Table, TOKEN_TABLES, USES } from '../tables.ts'
import { addColumn, createIndex, createTable, createView, type Statement } from './create.ts'

/**
 * What a step adds. A released one is never edited, and its name never means something else; `tables.ts` says what
 * its columns and indexes are. A column that is added may be lacking in a row. Whatever else must change takes two
 * releases (docs/operate.md, Upgrades).
 */
export interface Step {
  readonly name: string
  /** Whether releases that do not know the step run with what it makes. */
  readonly older: 'may run' | 'may not run'
  /** Without the columns and indexes that later steps add. */
  readonly tables?: readonly Table[]
  readonly columns?: readonly Addition[]
  /** By their names in `tables.ts`. */
  readonly indexes?: readonly Addition[]
  readonly view?: typeof RECORDS_VIEW
}

type Addition = readonly [table: Table, name: string]

/** In order. */
export const ALL_STEPS: readonly Step[] = [
  { name: '001-subject-tokens', older: 'may run', tables: TOKEN_TABLES, view: RECORDS_VIEW },
  { name: '002-oidc-models', older: 'may run', tables: [MODELS] },
  {
    name: '003-sessions',
    older: 'may run',
    columns: [
      [USES, 'session_due'],
      [USES, 'session_logout'],
      [USES, 'session_logout_at'],
    ],
    indexes: [[USES, 'session_due']],
  },
]

/** In order. Each makes one thing, and says which: whether it is there decides whether the statement runs. */
export function statementsOf(dialect: Dialect, step: Step, all: readonly Step[] = ALL_STEPS): Statement[] {
  const { tables = [], columns = [], indexes = [], view } = step
  const isLater = (what: 'columns' | 'indexes', { name }: Table, added: string) =>
    all.some((other) => other[what]?.some(([table, its]) => table.name === name && its === added))
  const create = (table: Table): Statement[] => {
    const names = Object.entries(table.columns).filter(([column]) => !isLater('columns', table, column))
    const first = table.indexes.filter(({ name }) => !isLater('indexes', table, name))
    return [
      createTable(dialect, { ...table, columns: Object.fromEntries(names) }),
      ...first.map((index) => createIndex(dialect, table, index)),
    ]
  }
  const indexesOf = ([table, name]: Addition) => table.indexes.filter((index) => index.name === name)
  return [
    ...tables.flatMap(create),
    ...(view ? [createView(dialect, view)] : []),
    ...columns.map(([table, column]) => addColumn(dialect, table, column)),
    ...indexes.flatMap((added) => indexesOf(added).map((index) => createIndex(dialect, added[0], index))),
  ]
}

export function fingerprintOf(dialect: Dialect, step: Step, all?: readonly Step[]): string {
  const texts = statementsOf(dialect, step, all).map(({ sql }) => sql)
  return createHash('sha256').update(texts.join(';\n')).digest('hex')
}

/** What every migration begins with. */
export const begin = (dialect: Dialect): Statement[] =>
  [STEPS, LEASE].map((table) => createTable(dialect, table))

/** Two processes may finish the same step. */
export function recordStep(dialect: Dialect, step: Step, all?: readonly Step[]): string {
  const values = [step.name, fingerprintOf(dialect, step, all), step.older].map((value) => `'${value}'`)
  const sql = dialect.insertNew({ table: STEPS.name, columns: columnsOf(STEPS) })
  return sql.replace(
    /\$(\d)/g,
    (_, position: string) => [...values, `${epochTime()}`][Number(position) - 1] ?? '',
  )
}
