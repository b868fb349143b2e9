/** Links between the pages have a target, and the diagrams follow the syntax of Mermaid. */
import { existsSync, globSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { blocksOf, DOCS, ROOT, readPage } from '../../../fixtures/markdown.ts'
import { sectionOf } from '../../../fixtures/page.ts'

const PAGES = [
  'README.md',
  'SECURITY.md',
  '.github/CONTRIBUTING.md',
  'CHANGELOG.md',
  ...globSync(['packages/*/README.md', 'docs/contributing/*.md'], { cwd: ROOT }),
  ...DOCS,
]

const withoutBlocks = (text: string): string => text.replace(/^```.*?^```$/gms, '')

/** The anchors GitHub gives the headings of a page. */
function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>()
  for (const [, title = ''] of withoutBlocks(text).matchAll(/^#+ (.+)$/gm)) {
    const plain = title.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase()
    const anchor = plain.replace(/[^\p{L}\p{N}_ -]/gu, '').replaceAll(' ', '-')
    let candidate = anchor
    for (let repeats = 1; anchors.has(candidate); repeats += 1) candidate = `${anchor}-${repeats}`
    anchors.add(candidate)
  }
  return anchors
}

/** What is wrong with a link on this page. `undefined` if it has a target. */
function fault(page: string, link: string): string | undefined {
  const [target = '', anchor] = link.split('#')
  const file = target === '' ? page : path.join(path.dirname(page), target)
  if (!existsSync(path.join(ROOT, file))) return `${link}: there is no ${file}`
  if (anchor === undefined) return undefined
  if (!anchorsOf(readPage(file)).has(anchor)) return `${link}: no heading of ${file} is called that`
  return undefined
}

const linksOf = (text: string): string[] =>
  [...withoutBlocks(text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link)

const isLocal = (link: string): boolean => !/^[a-z]+:/.test(link)

describe('docs: links', () => {
  for (const page of PAGES) {
    it(`of ${page} have a target`, () => {
      const local = linksOf(readPage(page)).filter(isLocal)
      expect(local.map((link) => fault(page, link)).filter(Boolean)).to.deep.equal([])
    })
  }

  it('are many, and some name anchors', () => {
    const local = PAGES.flatMap((page) => linksOf(readPage(page))).filter(isLocal)
    expect(local.length).to.be.greaterThan(50)
    expect(local.filter((link) => link.includes('#')).length).to.be.greaterThan(10)
  })

  it('of the README name every page once in its list', () => {
    const listed = linksOf(sectionOf(readPage('README.md'), 'Documentation'))
    for (const page of DOCS) expect(listed.filter((link) => link === page)).to.deep.equal([page])
  })
})

describe('docs: diagrams', () => {
  const diagrams = PAGES.flatMap((page) => blocksOf(readPage(page))).filter(
    ({ language }) => language === 'mermaid',
  )
  const linesOf = (kind: string) =>
    diagrams
      .filter(({ code }) => code.startsWith(kind))
      .map(({ code }) =>
        code
          .trim()
          .split('\n')
          .slice(1)
          .map((line) => line.trim()),
      )

  it('show a chain of APIs, the order of checks, who talks to whom, and the rooms', () => {
    expect(linesOf('sequenceDiagram')).to.have.length(1)
    expect(linesOf('flowchart')).to.have.length(3)
    expect(diagrams).to.have.length(4)
  })

  it('of sequences declare their participants, and close every block', () => {
    for (const lines of linesOf('sequenceDiagram')) {
      const names = lines.map((line) => /^participant (\w+) as [^;]+$/.exec(line)?.[1]).filter(Boolean)
      let open = 0
      for (const line of lines) {
        const [, from, to] = /^(\w+)--?>>(\w+): [^;#]+$/.exec(line) ?? []
        const [, over] = /^Note over (\w+): [^;#]+$/.exec(line) ?? []
        if (/^alt /.test(line)) open += 1
        else if (line === 'end') open -= 1
        else if (from) expect(names, line).to.include.members([from, to])
        else if (over) expect(names, line).to.include(over)
        else expect(line).to.match(/^(participant \w+ as |else )/)
        expect(open, line).to.be.within(0, 1)
        expect(line.replace(/^end$/, ''), line).not.to.match(/\bend\b/)
      }
      expect(open).to.equal(0)
    }
  })

  it('of flows quote their labels, and define every box', () => {
    // A room that shares nothing with the others has a box and no arrow.
    const alone = /^(\w+)\["[^"]+"\]$/
    const box = String.raw`(\w+)(?:\(\["[^"]+"\]\)|\["[^"]+"\]|\{"[^"]+"\})?`
    for (const lines of linesOf('flowchart')) {
      const said = new Set<string>()
      const used = new Set<string>()
      for (const line of lines.filter((each) => !alone.test(each))) {
        const [, from = '', to = ''] = new RegExp(`^${box} (?:-- "[^"]+" )?--> ${box}$`).exec(line) ?? []
        expect(from, line).not.to.equal('')
        for (const name of [from, to]) used.add(name)
        for (const [, name = ''] of line.matchAll(/(\w+)[([{]+"/g)) said.add(name)
      }
      expect([...used].sort()).to.deep.equal([...said].sort())
      expect([...used]).not.to.include('end')
    }
  })
})
