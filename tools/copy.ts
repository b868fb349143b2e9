/** A copy of the repository in a folder of its own, in which a tool may change files. */
import {
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

export const ROOT = path.resolve(import.meta.dirname, '..')

const PACKAGES = path.join(ROOT, 'node_modules')
const LEFT = new Set(['node_modules', 'dist', 'coverage', '.git'])

/** Folders of tests that run at the same time come and go. */
const isCopied = (name: string): boolean => !LEFT.has(name) && !name.startsWith('.readme-')

/** Its packages are those of the original; the workspaces among them are the copy's own. */
export function copyRepository(purpose: string): string {
  const folder = mkdtempSync(path.join(tmpdir(), `impersonation-${purpose}-`))
  cpSync(ROOT, folder, { recursive: true, filter: (from) => isCopied(path.basename(from)) })
  const packages = path.join(folder, 'node_modules')
  mkdirSync(packages)
  for (const name of installedPackages()) {
    const original = path.join(PACKAGES, name)
    mkdirSync(path.dirname(path.join(packages, name)), { recursive: true })
    symlinkSync(isWorkspace(original) ? readlinkSync(original) : original, path.join(packages, name))
  }
  return folder
}

/** Those of a scope one by one, so that another release can take the place of one. */
const installedPackages = (): string[] =>
  readdirSync(PACKAGES)
    .filter((entry) => entry !== '.cache')
    .flatMap((entry) =>
      entry.startsWith('@')
        ? readdirSync(path.join(PACKAGES, entry)).map((name) => path.join(entry, name))
        : [entry],
    )

const isWorkspace = (entry: string): boolean =>
  lstatSync(entry).isSymbolicLink() && !realpathSync(entry).startsWith(PACKAGES + path.sep)
