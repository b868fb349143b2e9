/** The suite is a package of its own: it knows nothing of this plugin, and its tests stay here. */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { ROOT } from '../../../fixtures/markdown.ts'
import { CATALOGUE } from '../../../packages/suite/src/catalogue.ts'
import { PROFILES } from '../../../packages/suite/src/driver.ts'

const SUITE = path.join(ROOT, 'packages/suite')

const sources = (folder: string) =>
  readdirSync(path.join(SUITE, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => path.join(folder, file))

function importsOf(file: string): string[] {
  const text = readFileSync(path.join(SUITE, file), 'utf8')
  return [...text.matchAll(/(?:from|import)\s+'([^']+)'/g)].map(([, specifier = '']) =>
    specifier.startsWith('.') ? path.join(path.dirname(file), specifier) : specifier,
  )
}

describe('suite: the package', () => {
  it('imports Node, jose and itself, and nothing of this repository', () => {
    const imports = sources('src').flatMap(importsOf)
    expect(imports.length).to.be.greaterThan(60)
    const outside = imports.filter((specifier) => !/^src\/|^node:/.test(specifier))
    expect([...new Set(outside)]).to.deep.equal(['jose'])
  })

  it('has a naive server that is as independent', () => {
    const imports = sources('naive').flatMap(importsOf)
    expect(imports.filter((specifier) => !/^(src|naive)\/|^node:|^jose$/.test(specifier))).to.deep.equal([])
  })

  it('holds what was built, the templates, README and LICENSE', () => {
    const args = ['pack', '--dry-run', '--json', '--ignore-scripts']
    const output = execFileSync('npm', args, {
      cwd: SUITE,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const [pack]: { files: { path: string }[] }[] = Object.values(JSON.parse(output))
    const files = (pack?.files ?? []).map((file) => file.path).filter((file) => !file.startsWith('dist/'))
    expect(files).to.have.members([
      'LICENSE',
      'README.md',
      'package.json',
      'template/deployment.ts',
      'template/driver.ts',
    ])
  })

  it('gives every check an id of its own, a sentence, and a source', () => {
    const ids = CATALOGUE.map(({ id }) => id)
    expect(new Set(ids).size).to.equal(ids.length)
    for (const { id, says, source, profiles = [], after } of CATALOGUE) {
      expect(id).to.match(/^[a-z-]+\.[a-z0-9-]+$/)
      expect(says, id).to.match(/^[A-Za-z].{15,}\.$/)
      expect(source, id).to.match(/RFC \d{4} §\d|^CWE-\d+|^CVE-\d{4}-\d+/)
      expect(PROFILES, id).to.include.members([...profiles])
      if (after !== undefined) expect(ids.indexOf(after), id).to.be.within(0, ids.indexOf(id) - 1)
    }
  })
})
