import type { Dialect } from '../database/dialect.ts'

/** One step of the schema. */
export interface Migration {
  readonly name: string
  /** Each must be harmless when it is run again: a step that was interrupted starts over, and another node may run it too. */
  statements(dialect: Dialect): readonly string[]
}
