/** The parts of our tables, each with the statement that makes it, and the steps by which they come: while people work. */
import { createHash } from 'node:crypto'
import { epochTime } from '../../base/clock.ts'
import type { Dialect } from '../database/dialect.ts'
import {
  columnsOf,
  type Kind,
  LEASE,
  MODELS,
  RECORDS_VIEW,
  STEPS,
  type Table,
  TOKEN_TABLES,
  TOKENS,
  USES,
} from '../tables.ts'

/** A table, or a column, a key or an index of it. */
interface Part {
  /** In the catalogue, such as `column subject_tokens.open`. */
  readonly name: string
  /** Its definition there. */
  readonly shape: string
  /** Makes it. Absent for a key, which comes with its table. */
  readonly sql?: string
}

/** The table first, with all its columns but those that come later. */
export function partsOf(dialect: Dialect, table: Table, later: readonly string[] = []): Part[] {
  const { types } = dialect
  const kindOf = (column: string) => (table.columns[column] ?? 'text').replace('?', '') as Kind
  const columns = Object.entries(table.columns).map(([column, kind]) => {
    const type = types[kindOf(column)]
    const must = kind.endsWith('?') ? '' : ' NOT NULL'
    const definition = `${column} ${type}${kind === 'sequence' ? '' : must}`
    return {
      name: `column ${table.name}.${column}`,
      shape: `${type.replaceAll(/ (NOT NULL|UNIQUE|PRIMARY KEY)/g, '')}${must}`,
      sql: dialect.addColumn(table.name, definition),
      definition,
    }
  })
  const keys = [table.key.join(', '), ...(table.unique === undefined ? [] : [table.unique])]
  const indexes = table.indexes.map(({ name: its, columns, unless }): Part => {
    const name = `${table.name}_${its}`
    const indexed = columns.map((column) => (kindOf(column) === 'name' ? dialect.indexed(column) : column))
    const rows = unless !== undefined && dialect.hasPartialIndexes ? ` WHERE ${unless} IS NOT NULL` : ''
    const shape = `on (${columns.join(', ')})${rows}`
    const sql = dialect.createIndex({ name, table: table.name, columns: indexed.join(', '), rows })
    return { name: `index ${name}`, shape, sql }
  })
  const hasSequence = Object.values(table.columns).includes('sequence')
  const definitions = [
    ...columns.filter(({ name }) => !later.includes(name)).map(({ definition }) => definition),
    `${hasSequence ? types.keyBesideSequence : 'PRIMARY KEY'} (${table.key.join(', ')})`,
    ...(table.unique === undefined ? [] : [`UNIQUE (${table.unique})`]),
  ]
  const sql = `CREATE TABLE IF NOT EXISTS ${table.name} (
    ${definitions.join(',\n    ')}
  )${dialect.tableOptions}${table.byKey ? dialect.byKey : ''}`
  return [
    { name: `table ${table.name}`, shape: '', sql },
    ...columns,
    ...keys.map((key) => ({ name: `key (${key}) of ${table.name}`, shape: '' })),
    ...indexes,
  ]
}

/**
 * A released step is never edited, and its name never means something else; `tables.ts` says what its columns and
 * indexes are. A column that is added may be lacking in a row. Whatever else must change takes two releases
 * (docs/operate.md, Upgrades).
 */
export interface Step {
  readonly name: string
  /** Whether releases that do not know the step run with what it makes. */
  readonly older: 'may run' | 'may not run'
  /** The tables that it makes, without the parts that later steps add. */
  readonly tables: readonly Table[]
  /** The parts that it adds to existing tables, by name. */
  readonly adds?: readonly string[]
  readonly view?: typeof RECORDS_VIEW
}

/** In order. */
export const ALL_STEPS: readonly Step[] = [
  { name: '001-subject-tokens', older: 'may run', tables: TOKEN_TABLES, view: RECORDS_VIEW },
  { name: '002-oidc-models', older: 'may run', tables: [MODELS] },
  {
    name: '003-sessions',
    older: 'may run',
    tables: [USES],
    adds: [
      ...['session_due', 'session_logout', 'session_logout_at'].map((name) => `column ${USES.name}.${name}`),
      `index ${USES.name}_session_due`,
    ],
  },
  {
    name: '004-read-only',
    older: 'may run',
    tables: [TOKENS],
    adds: [`column ${TOKENS.name}.read_only`],
  },
]

export interface Statement {
  readonly sql: string
  readonly table: string
  /** The name in the catalogue of what it makes: if that is there, the statement does not run. */
  readonly makes: string
  /** The name of its step. Absent for what comes before all steps. */
  readonly step?: string
  /** For people only: nothing is wrong without it. */
  readonly isView?: true
}

/** In order. */
function statementsOf(dialect: Dialect, step: Step, steps: readonly Step[] = ALL_STEPS): Statement[] {
  const { name: its, tables, adds, view } = step
  const later = steps.flatMap((other) => other.adds ?? [])
  const isOf = (name: string) =>
    adds ? adds.includes(name) : /^(table|index)/.test(name) && !later.includes(name)
  const made = tables.flatMap((table) =>
    partsOf(dialect, table, later).flatMap(({ name, sql }) =>
      sql !== undefined && isOf(name) ? [{ sql, table: table.name, makes: name, step: its }] : [],
    ),
  )
  return view ? [...made, { ...viewOf(dialect, view), step: its, isView: true }] : made
}

function viewOf(dialect: Dialect, { name, columns, from }: typeof RECORDS_VIEW) {
  const selected = columns.map(([kind, column, its]) => `${dialect.legible(column, kind)} AS ${its}`)
  const statements = dialect.createView(name, `SELECT ${selected.join(', ')} FROM ${from}`)
  return { sql: statements.join(';\n'), table: name, makes: `table ${name}` }
}

export function fingerprintOf(dialect: Dialect, step: Step, steps?: readonly Step[]): string {
  const texts = statementsOf(dialect, step, steps).map(({ sql }) => sql)
  return createHash('sha256').update(texts.join(';\n')).digest('hex')
}

/** Goes after the statements of a step. Two processes may finish the same one. */
function recordOf(dialect: Dialect, step: Step, steps?: readonly Step[]): Statement {
  const texts = [step.name, fingerprintOf(dialect, step, steps), step.older]
  const values = [...texts.map((value) => `'${value}'`), `${epochTime()}`]
  const sql = dialect
    .insertNew({ table: STEPS.name, columns: columnsOf(STEPS) })
    .replace(/\$(\d)/g, (_, position: string) => values[Number(position) - 1] ?? '')
  return { sql, table: STEPS.name, makes: `step ${step.name}`, step: step.name }
}

/** Makes the tables of migrations. */
export const begin = (dialect: Dialect): Statement[] =>
  [STEPS, LEASE].flatMap((table) =>
    partsOf(dialect, table)
      .slice(0, 1)
      .map(({ name, sql = '' }) => ({ sql, table: table.name, makes: name })),
  )

/** All statements of a migration, in order. */
export const allOf = (dialect: Dialect, steps: readonly Step[]): Statement[] => [
  ...begin(dialect),
  ...steps.flatMap((step) => [...statementsOf(dialect, step, steps), recordOf(dialect, step, steps)]),
]
