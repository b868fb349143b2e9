/**
 * What each package promises to those who import it: its file in docs/contributing/surface/ has the names, options and types of
 * every entry, as `npm run build` wrote them. `npm run surface` writes the files, for people to read in a review; with
 * `--check` it fails where one differs. It also fails where an exported name has no doc comment, or an option has none, or
 * a type that is needed has no name outside: editors show these comments, and they are the only reference of the API.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import {
  Extractor,
  ExtractorConfig,
  ExtractorLogLevel,
  ExtractorMessageCategory,
} from '@microsoft/api-extractor'
import { PACKAGES, readManifest } from '../fixtures/packed-package.ts'

const ROOT = path.resolve(import.meta.dirname, '..')

const nothing = { default: { logLevel: ExtractorLogLevel.None } }
const noted = { logLevel: ExtractorLogLevel.Warning, addToApiReportFile: true }

/** The declarations of one entry, in the order of their names. */
function reportOf(folder: string, types: string): string {
  const projectFolder = path.join(ROOT, folder)
  const reportFolder = mkdtempSync(path.join(tmpdir(), 'surface-'))
  const config = ExtractorConfig.prepare({
    configObject: {
      mainEntryPointFilePath: path.join(projectFolder, types),
      projectFolder,
      compiler: {
        overrideTsconfig: {
          compilerOptions: {
            ...{ module: 'nodenext', target: 'es2022', lib: ['es2023', 'dom'], types: ['node'] },
            ...{ strict: true, skipLibCheck: true, allowImportingTsExtensions: true, noEmit: true },
          },
          files: [path.join(projectFolder, types)],
        },
      },
      apiReport: {
        enabled: true,
        reportFileName: 'entry.api.md',
        ...{ reportFolder, reportTempFolder: reportFolder },
      },
      newlineKind: 'lf',
      ...{ docModel: { enabled: false }, dtsRollup: { enabled: false }, tsdocMetadata: { enabled: false } },
      messages: {
        ...{ compilerMessageReporting: nothing, tsdocMessageReporting: nothing },
        extractorMessageReporting: { ...nothing, 'ae-forgotten-export': noted, 'ae-undocumented': noted },
      },
    },
    configObjectFullPath: undefined,
    packageJsonFullPath: path.join(projectFolder, 'package.json'),
  })
  try {
    Extractor.invoke(config, {
      localBuild: true,
      messageCallback(message) {
        message.handled = message.category === ExtractorMessageCategory.Console
      },
    })
    const report = readFileSync(path.join(reportFolder, 'entry.api.md'), 'utf8')
    return /```ts\n(.*)```/s.exec(report)?.[1] ?? ''
  } finally {
    rmSync(reportFolder, { recursive: true, force: true })
  }
}

const namesIn = (report: string): string[] =>
  [
    ...report.matchAll(/^export (?:declare )?(?:abstract )?(?:const|function|class|interface|type) (\w+)/gm),
  ].map(([, name = '']) => name)

/** Exported without a doc comment, or a member of options without one. */
function undocumentedIn(report: string): string[] {
  const names = [
    ...report.matchAll(/^\/\/ @public \(undocumented\)\n.*?(\w+)(?=[:(<]| [={]| extends)/gm),
  ].map(([, name = '']) => name)
  const options = [...report.matchAll(/^export interface (\w+Options)\b.*?^\}/gms)].flatMap(([text, name]) =>
    [...text.matchAll(/\/\/ \(undocumented\)\n *(?:readonly )?(\w+)/g)].map(
      ([, member]) => `${name}.${member}`,
    ),
  )
  return [...names, ...options]
}

/** The types that a declaration needs, and that its entry does not export. */
const needed = (report: string): string[] =>
  [...report.matchAll(/The symbol "(\w+)" needs to be exported/g)].map(([, name = '']) => name)

const withoutNotes = (report: string): string =>
  report
    .replace(/^ *\/\/.*\n/gm, '')
    .replace(/\n{3,}/g, '\n\n')
    .trim()

const problems: string[] = []
let names = 0
for (const folder of PACKAGES.values()) {
  const { name, exports } = readManifest(folder)
  const entries = Object.entries(exports).flatMap(([entry, target]) =>
    typeof target === 'string' || entry === './inside'
      ? []
      : [{ door: path.join(name, entry), types: target.types }],
  )
  const reports = new Map(entries.map(({ types }) => [types, reportOf(folder, types)]))
  const exported = new Set([...reports.values()].flatMap(namesIn))
  names += exported.size
  const parts = entries.map(({ door, types }) => {
    const report = reports.get(types) ?? ''
    if (namesIn(report).length === 0) problems.push(`${door}: no exported name was found`)
    problems.push(...undocumentedIn(report).map((one) => `${door}: ${one} has no doc comment`))
    const nameless = needed(report).filter((one) => !exported.has(one))
    problems.push(...nameless.map((one) => `${door}: ${one} is needed, and not exported`))
    return `import '${door}'\n\n${withoutNotes(report)}\n`
  })
  const text = parts.join('\n\n')
  if (parts.length === 0) continue
  const file = path.join('docs/contributing/surface', `${name}.txt`)
  if (!process.argv.includes('--check')) writeFileSync(path.join(ROOT, file), text)
  else if (text !== readFileSync(path.join(ROOT, file), 'utf8'))
    problems.push(`${file} differs from what is exported: npm run surface, and read what has changed`)
}
for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exit(1)
console.log(`${names} exported names, each with a doc comment`)
