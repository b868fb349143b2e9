/** example/README.md leads through every file. */
import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { ROOT, readPage } from '../../../fixtures/markdown.ts'
import { codeOf, sectionOf } from '../../../fixtures/page.ts'

const EXAMPLE = path.join(ROOT, 'example')
const NAMED = codeOf(sectionOf(readPage('example/README.md'), 'Read it')).filter((name) =>
  /\.[jt]s$|\/$/.test(name),
)
const FOLDERS = ['', 'backend', 'desk', 'desk/public', 'shop']

describe('example: README', () => {
  it('names files and folders that exist', () => {
    expect(NAMED.length).to.be.greaterThan(20)
    for (const name of NAMED) {
      const places = FOLDERS.map((folder) => path.join(EXAMPLE, folder, name))
      expect(
        places.some((place) => existsSync(place)),
        name,
      ).to.equal(true)
    }
  })

  it('names every file of the example, every one of its backend, and of the shop', () => {
    const files = ['', 'backend', 'shop'].flatMap((folder) => readdirSync(path.join(EXAMPLE, folder)))
    expect(NAMED).to.include.members(files.filter((file) => file.endsWith('.ts')))
  })

  it('names commands that exist', () => {
    const { scripts } = JSON.parse(readPage('package.json'))
    const named = [...readPage('example/README.md').matchAll(/npm (?:run )?(demo|start)/g)].map(
      ([, name]) => name,
    )
    expect(Object.keys(scripts)).to.include.members(named)
  })
})
