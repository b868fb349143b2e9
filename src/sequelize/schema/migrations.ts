import { subjectTokens } from './001-subject-tokens.ts'
import { oidcModels } from './002-oidc-models.ts'
import type { Migration } from './migration.ts'

/** In order, and never changed once released. */
export const MIGRATIONS: readonly Migration[] = [subjectTokens, oidcModels]
