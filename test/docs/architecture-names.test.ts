/** docs/architecture.md names what is there: in each sentence that links to the source, every name in backticks. */
import { readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { ROOT, readPage } from '../../fixtures/markdown.ts'
import { codeOf } from '../../fixtures/page.ts'

/** Sentences, items of lists and rows of tables, without blocks and headings. */
const sentencesOf = (page: string): string[] =>
  page
    .replaceAll(/^```.*?^```$|^#[^\n]*$/gms, '')
    .split(/\n\n|\n(?=\||- |\d+\. )|(?<=[.:])\s+(?=[A-Z`[])/)
    .map((sentence) => sentence.replaceAll(/\s+/g, ' ').trim())

/** The files of the source that a sentence links to; a folder stands for all in it. */
const filesOf = (sentence: string): string[] =>
  [...sentence.matchAll(/\]\(\.\.\/((?:src|packages)\/[^)#]+)\)/g)].flatMap(([, link = '']) =>
    statSync(path.join(ROOT, link)).isDirectory() ? sourcesIn(link) : link,
  )

const sourcesIn = (folder: string): string[] =>
  readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.[tj]s$/.test(file) && !/(^|\/)(dist|node_modules)\//.test(file))
    .map((file) => path.join(folder, file))

const exportsOf = (file: string): string[] => {
  const text = readPage(file)
  const declared = [...text.matchAll(/^export (?:async )?(?:const|function|class|interface|type) (\w+)/gm)]
  const listed = [...text.matchAll(/^export (?:type )?\{([^}]*)\}/gms)].flatMap(([, names = '']) => [
    ...names.matchAll(/(\w+)(?=\s*(?:,|$))/g),
  ])
  return [...declared, ...listed].map(([, name = '']) => name)
}

const EXPORTED = new Set(['src', 'packages'].flatMap(sourcesIn).flatMap(exportsOf))

/** What a sentence names and its files lack: an export of another file, or a word that they do not hold. */
function missing(sentence: string): string[] {
  const files = filesOf(sentence)
  if (files.length === 0) return []
  const exported = files.flatMap(exportsOf)
  return codeOf(sentence)
    .filter((name) => /^[A-Za-z]\w*$/.test(name))
    .filter((name) =>
      EXPORTED.has(name)
        ? !exported.includes(name)
        : !files.some((file) => new RegExp(`\\b${name}\\b`).test(readPage(file))),
    )
}

describe('docs: the names of architecture.md', () => {
  const sentences = sentencesOf(readPage('docs/architecture.md'))

  it('are in the files that their sentence links to', () => {
    expect(sentences.filter((sentence) => filesOf(sentence).length > 0).length).to.be.greaterThan(40)
    const faults = sentences.flatMap((sentence) => missing(sentence).map((name) => `${name}: ${sentence}`))
    expect(faults.join('\n')).to.equal('')
  })

  it('are missed where a file has lost them, or another file exports them', () => {
    expect(missing('`findSubject` in [`subject.ts`](../src/exchange/subject.ts)')).to.deep.equal([
      'findSubject',
    ])
    expect(missing('`parseRequest` in [`subject.ts`](../src/exchange/subject.ts)')).to.deep.equal([
      'parseRequest',
    ])
    expect(missing('`parseRequest` in [`request.ts`](../src/exchange/request.ts)')).to.deep.equal([])
  })
})
