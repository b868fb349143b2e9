/**
 * How much there may be to read: counts each part and each total of the table in CONTRIBUTING.md, and fails where one has
 * more. A file is of the part with the longest name that its own begins with. Code of the product counts without comments
 * and blank lines, and that of the suite is in no total; of the workshop counts every line of text; of pages, words.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { ROOT, readPage } from '../fixtures/markdown.ts'
import { codeOf, rowsOf, sectionOf } from '../fixtures/page.ts'

const NO_TEXT = /(package-lock\.json|\.(png|jpg|svg|gif|ico|tgz|tar|gz|zip))$/
const SUITE = /^packages\/suite\/src\//
const PRODUCT = /^(src|packages\/(?!suite\/)[^/]+\/src)\/(?!.*\.(md|json)$)/
const WORKSHOP = /^(?!packages\/[^/]+\/src\/)(test|fixtures|example|tools|packages)\/(?!.*\.md$)/
const TESTS = /^(test|packages\/[^/]+\/test)\//
const PAGES = /^(?!(.*\/)?(CHANGELOG|LICENSE|CONTRIBUTING)\.md$|.*contributing\/).*\.md$/
const CONTRIBUTORS = /^(.*\/)?CONTRIBUTING\.md$|contributing\/.*\.md$/

const countOf = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0
const codeIn = (text: string) => countOf(text, /^(?!\s*($|\/\/|\/\*|\*)).*$/gm)
const linesIn = (text: string) => countOf(text, /\n/g)
const wordsIn = (text: string) => countOf(text, /[^ \t\n\v\f\r]+/g)

const rows = rowsOf(sectionOf(readPage('.github/CONTRIBUTING.md'), 'How much there may be'))
const most = new Map(
  rows.map(([name = '', lines = '']) => [codeOf(name)[0] ?? name, Number(lines.replaceAll(',', ''))]),
)
const folders = [...most.keys()].toSorted((one, other) => other.length - one.length)
const counted = new Map<string, number>()
const add = (name: string, count: number) => counted.set(name, (counted.get(name) ?? 0) + count)

for (const file of execFileSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8' }).trim().split('\n')) {
  if (NO_TEXT.test(file)) continue
  const text = readFileSync(path.join(ROOT, file), 'utf8')
  const isCode = PRODUCT.test(file) || SUITE.test(file)
  const count = isCode ? codeIn(text) : linesIn(text)
  if (PRODUCT.test(file)) add('product', count)
  if (PRODUCT.test(file) && file.startsWith('src/')) add('core', count)
  if (WORKSHOP.test(file)) add('workshop', count)
  if (TESTS.test(file)) add('tests', count)
  if (PAGES.test(file)) add('words', wordsIn(text))
  if (CONTRIBUTORS.test(file)) add('contributors', wordsIn(text))
  if (isCode || WORKSHOP.test(file)) add(folders.find((folder) => file.startsWith(folder)) ?? file, count)
}

const over = [...counted].filter(([name, count]) => count > (most.get(name) ?? 0))
for (const name of ['product', 'core', 'workshop', 'tests', 'words', 'contributors'])
  console.log(`${name}: ${counted.get(name)} of ${most.get(name)}`)
for (const [name, count] of over)
  console.error(`✗ ${name} has ${count}, and CONTRIBUTING.md allows ${most.get(name) ?? 'none'}`)
process.exitCode = over.length > 0 ? 1 : 0
