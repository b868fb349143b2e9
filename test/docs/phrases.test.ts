/** Everything people read is free of the phrases in phrases.txt, and every page says first whom it is for. */
import { globSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { DOCS, ROOT, readPage } from '../../fixtures/markdown.ts'

const PAGES = readdirSync(ROOT).filter((file) => file.endsWith('.md'))
const FOLDERS = ['docs', 'src', 'example', 'bench', 'fuzz', 'fixtures', 'suite', 'packages', 'test']
const PROSE = /\.(md|ts|js|html|css)$/

const filesOf = (folder: string): string[] =>
  readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => PROSE.test(file) && !/(^|\/)(\.|dist\/|node_modules\/)/.test(file))
    .map((file) => path.join(folder, file))

const FILES = [...PAGES, 'openapi.json', ...FOLDERS.flatMap(filesOf)]

/** White space within one text: also a line break with the star or the slashes of a comment. */
const GAP = String.raw`\s+(?:(?:\*|\/\/|#|>|\|)\s+)?`

/** Each phrase of the list as an expression, by its line. */
const PHRASES = readFileSync(path.join(import.meta.dirname, 'phrases.txt'), 'utf8')
  .split('\n')
  .filter((line) => line.trim() !== '' && !line.startsWith('#'))
  .map((phrase) => new RegExp(phrase.replaceAll(' ', GAP), 'gi'))

/** Every phrase in a text, with the line it starts in. */
const found = (text: string): string[] =>
  PHRASES.flatMap((phrase) =>
    [...text.matchAll(phrase)].map(({ index, 0: words }) => {
      const line = text.slice(0, index).split('\n').length
      return `${line}: ${words.replaceAll(/\s+/g, ' ')}`
    }),
  )

describe('docs: phrases', () => {
  it('that read translated appear nowhere', () => {
    expect(FILES.length).to.be.greaterThan(250)
    const faults = FILES.flatMap((file) => found(readPage(file)).map((fault) => `${file}:${fault}`))
    expect(faults.join('\n')).to.equal('')
  })

  it('are found across the lines of a comment and of a paragraph', () => {
    expect(PHRASES.length).to.be.greaterThan(80)
    const [first, second] = ['for', 'ever']
    expect(found(`/**\n * It waits ${first}\n * ${second}.\n */`)).to.deep.equal([`2: ${first} * ${second}`])
    expect(found(`It waits ${first}\n${second}.`)).to.deep.equal([`1: ${first} ${second}`])
    expect(found(`It waits ${first}${second}.`)).to.deep.equal([])
  })
})

describe('docs: the first paragraph of a page', () => {
  for (const page of [
    ...DOCS,
    'CONTRIBUTING.md',
    'SECURITY.md',
    'CHANGELOG.md',
    'bench/README.md',
    'suite/README.md',
    ...globSync('packages/*/README.md', { cwd: ROOT }),
  ]) {
    it(`of ${page} says whom it is for, and what they can do after reading it`, () => {
      const [, first = ''] = readPage(page).split('\n\n')
      const sentence = first.replaceAll('\n', ' ')
      expect(sentence)
        .to.match(/^For /)
        .and.to.match(/\. After reading this page,? you will /)
    })
  }
})
