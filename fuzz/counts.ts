/** What a run says of its responses: a line for each group, so that the lines of several runs can be added up. */
import type { DatabaseKind } from '../fixtures/databases.ts'
import type { Answers } from './run.ts'

export function linesOf(kind: DatabaseKind, seed: string, answers: Answers): string[] {
  return Object.entries(answers).map(([group, counts]) => {
    const statuses = Object.entries(counts).map(([status, count]) => `${status}: ${count}`)
    return [kind.padEnd(9), group.padEnd(11), seed.padEnd(11), ...statuses].join(' ')
  })
}

export function sumOf(all: readonly Answers[]): Answers {
  const sum: Record<string, Record<string, number>> = {}
  for (const [group, counts] of all.flatMap((answers) => Object.entries(answers))) {
    const total = sum[group] ?? {}
    for (const [status, count] of Object.entries(counts)) total[status] = (total[status] ?? 0) + count
    sum[group] = total
  }
  return sum
}
