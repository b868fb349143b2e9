import type { Sequelize } from 'sequelize'

interface Log {
  log(text: string): void
}

/** The log of a Sequelize, which its types do not show. */
export const logOf = (sequelize: Sequelize): Log => sequelize as Sequelize & Log
