/**
 * Writes where a release comes from into what is packed: `node tools/release.ts https://github.com/you/repository v1.2.3`.
 * The manifests get their `repository`, which npm compares with who publishes, and each link of a page leads to the file of
 * that tag: packages hold no other page. It changes the folder that it is run in.
 */
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { PACKAGES, readManifest } from '../fixtures/packed-package.ts'

const [address = '', tag = ''] = process.argv.slice(2)
if (!/^https:\/\/[\w.-]+(\/[\w.-]+){2}$/.test(address) || tag !== `v${readManifest('.').version}`)
  throw new Error('release.ts needs the address of the repository, and the tag v<version>')

/** Outside code blocks, a Markdown link, or an address of an HTML element. */
const LINK = /^```.*?^```$|(?<=\]\(|(?:href|src|srcset)=")[^)"#:\s]+(?=[)"#])/gms

for (const folder of PACKAGES.values()) {
  const file = path.join(folder, 'package.json')
  const directory = folder === '.' ? undefined : folder
  const repository = { type: 'git', url: `git+${address}.git`, directory }
  writeFileSync(file, `${JSON.stringify({ ...readManifest(folder), repository }, undefined, 2)}\n`)
  for (const page of folder === '.' ? ['README.md', 'SECURITY.md', 'CHANGELOG.md'] : ['README.md']) {
    const place = path.join(folder, page)
    writeFileSync(
      place,
      readFileSync(place, 'utf8').replace(LINK, (link) => ofTag(folder, link)),
    )
  }
}

function ofTag(folder: string, link: string): string {
  if (link.startsWith('```')) return link
  const target = path.join(folder, link)
  const view = link.endsWith('.png') ? 'raw' : statSync(target).isDirectory() ? 'tree' : 'blob'
  return `${address}/${view}/${tag}/${target}`
}
