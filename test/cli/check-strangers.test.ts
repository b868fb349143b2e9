/** `oidc-impersonation check` of deployments that were written from the documentation: each has one mistake, until it is remedied. */
import path from 'node:path'
import { expect } from 'chai'
import type { Finding } from '../../src/cli/check/finding.ts'
import { run } from './command.ts'

const FOLDER = path.join(import.meta.dirname, 'check/strangers')

async function check(module: string, example: string | undefined, variables?: NodeJS.ProcessEnv) {
  const tried = example ? ['--example', path.join(FOLDER, example)] : []
  const program = ['check', path.join(FOLDER, module), ...tried, '--json']
  const { code, stdout } = await run(program, undefined, { variables })
  const findings: Finding[] = JSON.parse(stdout)
  const troubles = findings
    .filter(({ level }) => level === 'fault' || level === 'warning')
    .map(({ level, about, text, advice }) => [`${level}: ${about}: ${text}`, advice])
  return { code, troubles }
}

const mistakes: [
  what: string,
  module: string,
  example: string | undefined,
  finding: string,
  advice: string,
][] = [
  [
    'opaque access tokens',
    'print-shop.ts',
    undefined,
    'fault: resources: access tokens for https://api.inkwell.example/proofs are opaque, because getResourceServerInfo returns no accessTokenFormat: an API that expects a JWT refuses them',
    "return accessTokenFormat: 'jwt' for it, or 'opaque' if its API introspects",
  ],
  [
    'a slash at the end of a resource of a stored client',
    'harbour.ts',
    'harbour.json',
    'fault: resources: "quay" may exchange for https://invoices.harbour.example/, which getResourceServerInfo does not know',
    'write https://invoices.harbour.example in its token_exchange_resources',
  ],
  [
    'a secret that Basic cannot carry',
    'clinic.ts',
    undefined,
    'fault: secrets: "care-desk": Authorization: Basic cannot carry its secret unencoded',
    'use A–Z a–z 0–9 - . _ ~ alone, or form-encode id and secret before Base64',
  ],
  [
    'engineers whose tokens cannot act',
    'atlas.ts',
    'atlas.json',
    'fault: actor tokens: who signs in at "atlas-desk" gets a token for https://tiles.atlas.example/, because of defaultResource and useGrantedResource: it lacks openid, and cannot act',
    'let useGrantedResource return false for "atlas-desk"',
  ],
  [
    'a policy that allows what the example says it denies',
    'insurer.ts',
    'insurer.denied.json',
    'fault: policy: isAllowed allows it, and the example expects "denied"',
    'let isAllowed decide on actor.sub, at every stage',
  ],
  [
    'a policy that does not ask who acts',
    'insurer.ts',
    'insurer.json',
    'warning: policy: isAllowed does not look at actor: everyone who can sign in may act',
    'let isAllowed decide on actor.sub',
  ],
  [
    'two issuers with one address of status lists',
    'regions.ts',
    undefined,
    'fault: status lists: https://lists.courier.example/impersonation is also the address of https://id.courier.example/apac: only one issuer can have its lists there, and APIs refuse the JWTs of the others',
    'set managementResource or statusList.uri for all but one of them',
  ],
]

describe('oidc-impersonation check: deployments that were written from the documentation', () => {
  for (const [what, module, example, finding, advice] of mistakes) {
    it(`finds ${what}, and nothing else, until that is remedied`, async () => {
      const [before, after] = await Promise.all([
        check(module, example),
        check(module, example, { REMEDIED: '1' }),
      ])
      expect(before).to.deep.equal({
        code: finding.startsWith('fault') ? 1 : 0,
        troubles: [[finding, advice]],
      })
      expect(after).to.deep.equal({ code: 0, troubles: [] })
    })
  }
})
