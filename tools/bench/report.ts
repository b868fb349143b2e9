/** Figures for people. */
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os'
import type { Spread } from './measure.ts'

/** The machine, and how busy it was before the run. */
export const MACHINE = {
  processor: cpus()[0]?.model ?? 'unknown',
  cores: availableParallelism(),
  memory: `${Math.round(totalmem() / 2 ** 30)} GiB`,
  node: process.version,
  load: loadavg()[0] ?? Number.NaN,
}

/** The first column is left-aligned, the others are right-aligned. */
export function table(head: readonly string[], lines: readonly (readonly string[])[]): string {
  const widths = head.map((_, column) =>
    Math.max(...[head, ...lines].map((line) => (line[column] ?? '').length)),
  )
  const format = (line: readonly string[]) =>
    line.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
    )
  return [head, widths.map((width) => '-'.repeat(width)), ...lines]
    .map((line) => format(line).join('  ').trimEnd())
    .join('\n')
}

export const whole = (value: number): string => Math.round(value).toLocaleString('en')
export const percent = (share: number): string => `${Math.round(share * 100)} %`
export const megabytes = (bytes: number): string => `${whole(bytes / 2 ** 20)} MiB`
export const milliseconds = (value: number | undefined): string => value?.toFixed(1) ?? '–'
export const between = ({ min, max }: Spread): string => `${whole(min)}–${whole(max)}`
