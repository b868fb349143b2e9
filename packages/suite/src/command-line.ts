/** The command line: reads arguments, runs every configuration, writes the reports. */
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { CATALOGUE } from './catalogue.ts'
import type { Configuration } from './driver.ts'
import { PROFILES } from './driver.ts'
import { json } from './report/json.ts'
import { junit } from './report/junit.ts'
import { heading, line, summary } from './report/text.ts'
import { isGreen, type Report, type Result, type RunOptions, run } from './run.ts'

const USAGE = `Usage: token-exchange-suite <configuration> [options]

  <configuration>   a module whose default export is a configuration, or an array of them
  --only <start>    only checks whose id starts so; may be repeated
  --no-load         without the checks that send many requests at once
  --known <file>    JSON: ids of checks that are known to fail, each with the reason
  --json <file>     writes the results as JSON
  --junit <file>    writes the results as JUnit XML
  --list            prints all checks, and runs none

Ends with 0 if nothing failed unexpectedly, 1 if something did, 2 if it could not run.`

const OPTIONS = {
  only: { type: 'string', multiple: true },
  'no-load': { type: 'boolean' },
  known: { type: 'string' },
  json: { type: 'string' },
  junit: { type: 'string' },
  list: { type: 'boolean' },
  help: { type: 'boolean' },
} as const

/** The status to exit with. */
export async function commandLine(
  args: readonly string[],
  print: (text: string) => void = console.log,
): Promise<0 | 1 | 2> {
  try {
    const { values, positionals } = parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true })
    if (values.list) return list(print)
    const [file, ...more] = positionals
    if (values.help || file === undefined || more.length > 0) {
      print(USAGE)
      return values.help ? 0 : 2
    }
    const reports = await runAll(await load(file), optionsOf(values), print)
    if (values.json !== undefined) writeFileSync(values.json, json(reports))
    if (values.junit !== undefined) writeFileSync(values.junit, junit(reports))
    return reports.every(isGreen) ? 0 : 1
  } catch (error) {
    print(error instanceof Error ? `${error.name}: ${error.message}` : String(error))
    return 2
  }
}

interface Values {
  readonly only?: readonly string[]
  readonly 'no-load'?: boolean
  readonly known?: string
}

function optionsOf({ only, 'no-load': noLoad = false, known }: Values): RunOptions {
  return { noLoad, ...(only && { only }), ...(known !== undefined && { known: readKnown(known) }) }
}

function readKnown(file: string): Record<string, string> {
  const known = JSON.parse(readFileSync(file, 'utf8'))
  const isMap = typeof known === 'object' && known !== null && !Array.isArray(known)
  if (!isMap || !Object.values(known).every((reason) => typeof reason === 'string' && reason.trim() !== ''))
    throw new TypeError(`${file} must be an object of check ids, each with the reason`)
  return known
}

async function load(file: string): Promise<Configuration[]> {
  const { default: exported } = await import(pathToFileURL(path.resolve(file)).href)
  const configurations: Configuration[] = [exported].flat()
  for (const one of configurations) {
    if (typeof one?.open !== 'function' || typeof one.name !== 'string' || !Array.isArray(one.profiles))
      throw new TypeError(`the default export of ${file} must be a configuration: { name, profiles, open }`)
    const unknown = one.profiles.filter((profile) => !PROFILES.includes(profile))
    if (unknown.length > 0) throw new TypeError(`${file} names unknown profiles: ${unknown.join(', ')}`)
  }
  return configurations
}

async function runAll(
  configurations: readonly Configuration[],
  options: RunOptions,
  print: (text: string) => void,
): Promise<Report[]> {
  const reports: Report[] = []
  for (const configuration of configurations) {
    print(heading(configuration))
    const onResult = (result: Result) => {
      const text = line(result)
      if (text !== undefined) print(text)
    }
    const report = await run(configuration, { ...options, onResult })
    print(summary(report))
    reports.push(report)
  }
  return reports
}

function list(print: (text: string) => void): 0 {
  for (const { id, level, source, says, profiles = [] } of CATALOGUE) {
    const applies = profiles.length > 0 ? ` [${profiles.join(', ')}]` : ''
    print(`${id}  ${level}, ${source}${applies}\n    ${says}`)
  }
  print(`\n${CATALOGUE.length} checks`)
  return 0
}
