/** Lapses of the authors of stores and adapters: a file that is right, with one change, and the tests that must find it. */
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect } from 'chai'
import type { TestRunner } from '../../packages/store-contract/src/index.ts'

export type Declare = (runner: TestRunner) => void

interface Lapse {
  readonly name: string
  readonly edits: readonly { readonly find: string; readonly replace: string }[]
  /** How the titles of the tests begin that must find it. */
  readonly found: readonly string[]
}

/** Of a lapse that waits for a turn, and may be found in one run and not in the next. */
const RUNS = 20

/** What a mistake in the lapse itself would say. */
const MISTAKE = /is not (defined|a function|iterable)|^Cannot /

/** What an assertion says that names no rule: nothing that happens at the same moment may be told so. */
const NO_RULE = /^Expected values/

const textOf = (file: string) => readFileSync(new URL(file, import.meta.url), 'utf8')

const lapsesIn = (file: string): Lapse[] =>
  textOf(file)
    .split(/\n{2,}/)
    .map((block) => block.split('\n').filter((line) => line !== '' && !line.startsWith('#')))
    .filter((lines) => lines.length > 0)
    .flatMap(lapsesOf)

function lapsesOf([head = '', ...lines]: readonly string[]): Lapse[] {
  const [name = '', ...found] = head.split(' > ')
  const edits: { find: string[]; replace: string[] }[] = []
  let last = ''
  for (const line of lines) {
    if (/^[=-]/.test(line) && !/[=-]/.test(last)) edits.push({ find: [], replace: [] })
    last = line.slice(0, 1)
    if (/[=-]/.test(last)) edits.at(-1)?.find.push(line.slice(2))
    if (/[=+]/.test(last)) edits.at(-1)?.replace.push(line.slice(2))
    if (last === '>') found.push(line.slice(2))
  }
  const textsOf = (find: string[], replace: string[]) => ({
    find: find.join('\n'),
    replace: replace.join('\n'),
  })
  if (found.length > 0)
    return [{ name, edits: edits.map(({ find, replace }) => textsOf(find, replace)), found }]
  return edits.flatMap(({ find, replace }) =>
    replace.map((line) => ({ name: line, edits: [textsOf(find, [line])], found: [name] })),
  )
}

/** Loads the file with this change; it shares with the file as it is what both import. */
async function load<Module>(file: string, { edits }: Pick<Lapse, 'edits'>, folder: string): Promise<Module> {
  let text = textOf(file)
  for (const { find, replace } of edits) {
    expect(text.split(find), `this must stand once in ${file}: ${find}`).to.have.length(2)
    text = text.replace(find, () => replace)
  }
  const base = new URL(file, import.meta.url)
  const imports = text.replace(/(?<= from ')(\.|oidc-provider-impersonation).*(?='$)/gm, (specifier) =>
    specifier.startsWith('.') ? new URL(specifier, base).href : import.meta.resolve(specifier),
  )
  const changed = path.join(folder, `${randomUUID()}.ts`)
  writeFileSync(changed, `import { setImmediate as turn } from 'node:timers/promises'\n${imports}`)
  return import(pathToFileURL(changed).href)
}

/** The tests of a contract, by their titles. */
function testsOf(declare: Declare): Map<string, () => Promise<void>> {
  const tests = new Map<string, () => Promise<void>>()
  declare({ describe: (_, suite) => suite(), it: (title, run) => void tests.set(title, run) })
  return tests
}

/** The tests that fail, and what each says; of all, or of those whose titles begin so. */
export async function failuresOf(
  declare: Declare,
  begin: readonly string[] = [''],
): Promise<Map<string, string>> {
  const failed = new Map<string, string>()
  for (const [title, run] of testsOf(declare))
    if (begin.some((text) => title.startsWith(text)))
      await run().catch((error: Error) => failed.set(title, error.message))
  return failed
}

/**
 * Declares a test for each lapse of the list, changes of `file`, and one that each test of the contract finds one. What
 * finds other lapses has a title that fits `others`.
 */
export function describeLapses<Module>(
  list: string,
  file: string,
  contractOf: (module: Module) => Declare,
  others = /^$/,
): void {
  const lapses = lapsesIn(list)
  let folder: string
  let titles: string[]
  before(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'lapses-'))
    titles = [...testsOf(contractOf(await load<Module>(file, { edits: [] }, folder))).keys()]
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  for (const { name, edits, found } of lapses) {
    const runs = edits.some(({ replace }) => replace.includes('turn()')) ? RUNS : 1
    it(`finds: ${name}`, async () => {
      const contract = contractOf(await load<Module>(file, { edits }, folder))
      const expected = titles.filter((title) => found.some((text) => title.startsWith(text)))
      expect(expected.length).to.be.at.least(Math.max(found.length, 1))
      for (let run = 1; run <= runs; run += 1) {
        const failures = await failuresOf(contract, found)
        expect([...failures.keys()], `run ${run} of ${runs}`).to.have.members(expected)
        for (const text of failures.values()) {
          expect(text).not.to.match(MISTAKE)
          if (runs > 1) expect(text).not.to.match(NO_RULE)
        }
      }
    })
  }

  it('has no test that finds none of them', () => {
    const found = lapses.flatMap((lapse) => lapse.found)
    expect(
      titles.filter((title) => !others.test(title) && !found.some((text) => title.startsWith(text))),
    ).to.deep.equal([])
  })
}
