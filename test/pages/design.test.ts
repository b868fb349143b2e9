/** One design for the console, the example and the banner: what has the same name has the same value. */
import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { ROOT } from '../../fixtures/markdown.ts'

const DESIGN = 'src/pages/design.css'
/** In a page of someone else's, it keeps a copy of the values. */
const BANNER = 'packages/banner/src/banner.js'
/** What the banner sets on the page. */
const BANNERS = /^--impersonation-banner-/
/** They are served with the file itself. */
const GUESTS = globSync(['packages/console/src/**/*.css', 'example/**/*.css'], { cwd: ROOT })

const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8')

/** Each custom property that a file sets, with its value. */
const setIn = (file: string): readonly (readonly [string, string])[] =>
  [...read(file).matchAll(/(--[\w-]+):\s*([^;}]+)/g)].map(([, name = '', value = '']) => [name, value.trim()])

describe('the design', () => {
  const design = new Map(setIn(DESIGN))

  it('names its colours once', () => {
    expect(setIn(DESIGN).length).to.equal(design.size).and.be.greaterThan(20)
  })

  it('is what the banner has a copy of', () => {
    const copied = setIn(BANNER).filter(([name]) => design.has(name))
    expect(copied.map(([name]) => name)).to.have.members([
      ...['--viewing', '--on-viewing', '--last-minute', '--on-last-minute'],
      '--radius',
    ])
    for (const [name, value] of copied) expect(value, name).to.equal(design.get(name))
  })

  for (const file of GUESTS) {
    it(`is what ${file} builds on`, () => {
      const own = new Map(setIn(file))
      for (const name of own.keys()) expect(design.has(name), `${name} again`).to.equal(false)
      const used = [...read(file).matchAll(/var\((--[\w-]+)\)/g)].map(([, name = '']) => name)
      for (const name of used)
        expect(design.has(name) || own.has(name) || BANNERS.test(name), name).to.equal(true)
    })
  }
})
