/**
 * Statements of one text that requests come to in the same turn of the event loop go to the database together:
 * one packet each way, and one commit that makes all of them durable. Under load these are most of what a
 * statement costs; one that is alone goes when the turn ends.
 *
 * A group is one transaction. When the database undoes it, each of its statements is run alone, so that none
 * fails for another's fault. They do wait for each other.
 */
import type { Sequelize } from 'sequelize'
import { type Binding, type Result, takesSeveral } from './driver.ts'
import { isUndone } from './faults.ts'
import { run } from './run.ts'

/** More would save little, and let the first wait for the last. */
const MAX_SIZE = 8

interface Member {
  readonly bind: Binding
  readonly row: string
  resolve(result: Result): void
  reject(error: unknown): void
}

/** Those that gather in this turn, by their text. */
const gathering = new WeakMap<Sequelize, Map<string, Member[]>>()

/** Runs a statement with others of its text. It reads, or touches at most the one row that `row` names. */
export function runInGroup(sequelize: Sequelize, sql: string, bind: Binding, row = ''): Promise<Result> {
  return new Promise((resolve, reject) => {
    const member = { bind, row, resolve, reject }
    if (takesSeveral(sequelize)) join(sequelize, sql, member)
    else void settle(sequelize, sql, [member])
  })
}

/** Runs a statement at once, and by itself. */
export function runAlone(sequelize: Sequelize, sql: string, bind: Binding): Promise<Result> {
  return new Promise((resolve, reject) => {
    void settle(sequelize, sql, [{ bind, row: '', resolve, reject }])
  })
}

function join(sequelize: Sequelize, sql: string, member: Member): void {
  const groups = groupsOf(sequelize)
  const group = groups.get(sql)
  if (!group) {
    const opened = [member]
    groups.set(sql, opened)
    setImmediate(send, sequelize, sql, opened)
    return
  }
  group.push(member)
  // At once, so that the database works while this turn goes on.
  if (group.length === MAX_SIZE) send(sequelize, sql, group)
}

function send(sequelize: Sequelize, sql: string, group: Member[]): void {
  const groups = groupsOf(sequelize)
  // One that was full went before the end of the turn.
  if (groups.get(sql) !== group) return
  groups.delete(sql)
  // In one order in every process, so that no two groups wait for each other's rows.
  void settle(sequelize, sql, group.sort(byRow))
}

function groupsOf(sequelize: Sequelize): Map<string, Member[]> {
  let groups = gathering.get(sequelize)
  if (!groups) {
    groups = new Map()
    gathering.set(sequelize, groups)
  }
  return groups
}

async function settle(sequelize: Sequelize, sql: string, members: readonly Member[]): Promise<void> {
  try {
    const bindings = members.map(({ bind }) => bind)
    const results = await run(sequelize, sql, bindings)
    for (const [index, result] of results.entries()) members[index]?.resolve(result)
  } catch (error) {
    if (members.length > 1 && isUndone(error)) {
      for (const member of members) void settle(sequelize, sql, [member])
    } else {
      for (const member of members) member.reject(error)
    }
  }
}

function byRow(one: Member, other: Member): number {
  if (one.row === other.row) return 0
  return one.row < other.row ? -1 : 1
}
