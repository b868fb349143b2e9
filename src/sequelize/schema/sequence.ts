import { STATUS_LIST_SIZE } from '../../subject-tokens/subject-token.ts'
import type { Dialect, Move } from '../database/dialect.ts'
import { TOKENS } from '../tables.ts'

/** More status indexes than a database can have lost: a thousand lists. */
export const LOST = 1000 * STATUS_LIST_SIZE

/** How the sequence of status indexes is moved; absent where rows move it. */
export const moveNumbers = (dialect: Dialect): Move | undefined =>
  dialect.moveSequence?.(TOKENS.name, 'number', LOST)

/** Rows that move it are of no issuer. */
export const NO_ISSUER = 0
