import type { Sequelize } from 'sequelize'
import type { Dialect } from '../database/dialect.ts'
import { subjectTokens } from './001-subject-tokens.ts'
import { oidcModels } from './002-oidc-models.ts'

/** One step of the schema. Idempotent: a step that was cut short is run again from its start. */
export interface Migration {
  readonly name: string
  up(sequelize: Sequelize, dialect: Dialect): Promise<void>
}

/** In order, and never changed once released. */
export const MIGRATIONS: readonly Migration[] = [subjectTokens, oidcModels]
