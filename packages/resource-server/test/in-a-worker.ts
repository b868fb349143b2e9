/** Runs the verifier where there is nothing but the language and the web's APIs, and prints what becomes of a token. */
import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { fileURLToPath } from 'node:url'
import vm from 'node:vm'
import { AUDIENCE, signList, startIssuer } from './issuer.ts'

const NAMES = `
  AbortSignal Blob DecompressionStream Headers ReadableStream Request Response TextDecoder TextEncoder
  URL URLSearchParams btoa atob crypto CryptoKey fetch structuredClone
`
const web = Object.fromEntries(
  NAMES.trim()
    .split(/\s+/)
    .map((name) => [name, Reflect.get(globalThis, name)]),
)
// Of this realm, as the bytes are that its APIs give.
const context = vm.createContext({ ...web, Uint8Array, ArrayBuffer, Object, Error, TypeError, Promise })
const modules = new Map<string, vm.SourceTextModule>()

function load(url: string): vm.SourceTextModule {
  const known = modules.get(url)
  if (known) return known
  const source = readFileSync(fileURLToPath(url), 'utf8')
  const code = url.endsWith('.ts') ? stripTypeScriptTypes(source) : source
  const module = new vm.SourceTextModule(code, { context, identifier: url })
  modules.set(url, module)
  return module
}

const link = (specifier: string, { identifier }: vm.Module) =>
  load(specifier.startsWith('.') ? new URL(specifier, identifier).href : import.meta.resolve(specifier))

const entry = load(import.meta.resolve('../src/index.ts'))
await entry.link(link)
await entry.evaluate()
const { createVerifier } = entry.namespace as typeof import('../src/index.ts')

const issuer = await startIssuer()
await issuer.publish([3])
issuer.lists.set(1, await signList(`${issuer.base}/1`, { ttl: -1 }))
const verify = createVerifier({ issuer: issuer.issuer, audience: AUDIENCE })
const becomes = async (token: string) =>
  verify(new Request(AUDIENCE, { headers: { authorization: `Bearer ${token}` } })).then(
    ({ user, impersonated }) => `${user} ${impersonated}`,
    ({ name, reason, message }) => `${name} ${reason ?? message}`,
  )
const unusable = { status: { status_list: { idx: 0, uri: `${issuer.base}/1` } } }
for (const token of [
  await issuer.token(),
  await issuer.tokenWithStatus(2),
  await issuer.tokenWithStatus(3),
  await issuer.token(unusable),
  'junk',
])
  console.log(await becomes(token))
await issuer.close()
