/** The door of the repository: what contributors are told, and what checks their work. */
import { readdirSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { ROOT, readPage } from '../fixtures/markdown.ts'
import { codeOf, rowsOf, sectionOf } from '../fixtures/page.ts'

const WORKFLOWS = readdirSync(path.join(ROOT, '.github/workflows')).map((file) => `.github/workflows/${file}`)

/** The folders of a folder of the repository, without those that git ignores. */
const foldersIn = (folder: string): string[] =>
  readdirSync(path.join(ROOT, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => `${path.join(folder, name)}/`)
    .filter((name) => name !== '.git/' && !IGNORED.includes(name))

const IGNORED = readPage('.gitignore').split('\n')

describe('repository: CONTRIBUTING', () => {
  it('names every folder at the root, every room and every package, and no other', () => {
    const root = foldersIn('')
    const parts = ['src/', 'packages/'].filter((folder) => root.includes(folder)).flatMap(foldersIn)
    const rows = rowsOf(sectionOf(readPage('.github/CONTRIBUTING.md'), 'Where things are'))
    expect(rows.flatMap(([folder = '']) => codeOf(folder))).to.have.members([...root, ...parts])
  })
})

describe('repository: the workflows', () => {
  it('pin every action by commit, and name its release', () => {
    for (const file of WORKFLOWS) {
      const actions = readPage(file).match(/uses:.*/g) ?? []
      expect(actions, file).not.to.be.empty
      for (const action of actions)
        expect(action, file).to.match(/^uses: [\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/)
    }
  })

  it('pin one commit of each action, whichever workflow uses it', () => {
    const pins = WORKFLOWS.flatMap((file) => [...readPage(file).matchAll(/uses: (\S+)@(\S+)/g)])
    const commits = new Map(pins.map(([, action, commit]) => [action, commit]))
    for (const [pin, action, commit] of pins) expect(commit, pin).to.equal(commits.get(action))
  })

  it('check types and style of a pull request, and run the fast tests, before they run everything', () => {
    const ci = readPage('.github/workflows/ci.yml')
    expect(ci).to.match(/^on:\n {2}pull_request:\n {2}push:\n/m)
    const [first = '', everything = ''] = ci.split(/^ {2}everything:$/m)
    for (const command of ['npm ci', 'npm run check:types', 'npm run check:style', 'npm run test:fast'])
      expect(first).to.include(`- run: ${command}\n`)
    expect(everything).to.include('needs: fast\n').and.include('.ci/run\n')
  })

  it('run every night what is broken on purpose: the faults, and what is planted', () => {
    const nightly = readPage('.github/workflows/nightly.yml')
    expect(nightly).to.match(/^on:\n {2}schedule:\n {4}- cron: '/m)
    expect(nightly)
      .to.include('command: [faults, planted]\n')
      .and.match(/npm run \$\{\{ matrix\.command \}\}$/m)
  })
})
