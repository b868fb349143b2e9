/** The mutants that no test can or should kill, each with its reason: `test/mutation/survivors.json`. */
import { readFileSync } from 'node:fs'
import path from 'node:path'

export const ROOT = path.resolve(import.meta.dirname, '../..')

/** One line before and after the mutation. Where a line occurs several times, `above` is the line before it. */
export interface Place {
  readonly file: string
  readonly above?: string
  readonly line: string
  readonly mutated: string
}

export interface Survivor extends Place {
  readonly reason: string
}

export const readSurvivors = (): Survivor[] =>
  JSON.parse(readFileSync(path.join(ROOT, 'test/mutation/survivors.json'), 'utf8'))

const linesOf = (file: string): string[] =>
  readFileSync(path.join(ROOT, file), 'utf8')
    .split('\n')
    .map((line) => line.trim())

/** How often the code is what a survivor says it is: once, or the entry is stale or ambiguous. */
export const occurrences = ({ file, above, line }: Place): number =>
  linesOf(file).filter((text, at, lines) => text === line && (above === undefined || lines[at - 1] === above))
    .length

interface Mutation {
  readonly fileName: string
  readonly replacement?: string
  readonly location: Record<'start' | 'end', { readonly line: number; readonly column: number }>
}

/** Lines and columns count from one. */
export function placeOf({ fileName, replacement = '', location: { start, end } }: Mutation): Place {
  const file = path.relative(ROOT, fileName)
  const lines = readFileSync(fileName, 'utf8').split('\n')
  const text = (line: number): string => lines[line - 1] ?? ''
  const before = text(start.line).slice(0, start.column - 1)
  const place = {
    file,
    line: text(start.line).trim(),
    mutated: (before + replacement + text(end.line).slice(end.column - 1)).replace(/\s+/g, ' ').trim(),
  }
  const { file: _, ...rest } = place
  return occurrences(place) === 1 ? place : { file, above: text(start.line - 1).trim(), ...rest }
}

const keyOf = ({ file, above, line, mutated }: Place): string => JSON.stringify([file, above, line, mutated])

export const isSame = (one: Place, other: Place): boolean => keyOf(one) === keyOf(other)
