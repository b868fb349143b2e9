/** What is made of the provider's module for custom grants. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { errors } from 'oidc-provider'
import * as installed from 'oidc-provider/lib/helpers/grants.js'
import { ROOT } from '../../../fixtures/markdown.ts'
import { assertGrantFunctions, clientMayRequest } from '../../../src/provider/lib-grants.ts'

type Context = Parameters<typeof clientMayRequest>[0]

describe('whether a client may request a scope', () => {
  it('is not guessed when the provider cannot tell: its error is passed on', () => {
    const foreign = { oidc: { provider: {}, client: { scope: 'openid' } } } as unknown as Context
    expect(() => clientMayRequest(foreign, 'openid', errors.InvalidScope)).to.throw(TypeError)
  })
})

describe('the functions of the module', () => {
  const used: string[] = []
  const watched = { get: (module: object, name: string) => used.push(name) && Reflect.get(module, name) }
  assertGrantFunctions(new Proxy({ ...installed }, watched))

  it('are all there in this version', () => {
    expect(used).to.have.length(8)
    expect(() => assertGrantFunctions()).not.to.throw()
  })

  for (const name of used) {
    it(`are checked: a version without ${name} is refused by version and name`, () => {
      const without = { ...installed, [name]: undefined }
      expect(() => assertGrantFunctions(without)).to.throw(
        TypeError,
        new RegExp(`^oidc-provider \\d+\\.\\d+\\.\\d+ has no function ${name} in lib/helpers/grants\\.js`),
      )
    })
  }

  it('are checked by attach', async () => {
    const program = `
      import { registerHooks } from 'node:module'
      registerHooks({
        resolve: (specifier, context, next) =>
          specifier === 'oidc-provider/lib/helpers/grants.js'
            ? { url: 'data:text/javascript,export const findAccount = () => {}', shortCircuit: true }
            : next(specifier, context),
      })
      const { withDeployment } = await import('./fixtures/deployment.ts')
      await withDeployment({}, async () => {}).catch((error) => console.log(String(error)))
      process.exit()
    `
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--no-warnings', '--input-type=module', '--eval', program],
      { cwd: ROOT },
    )
    expect(stdout).to.match(/^TypeError: oidc-provider 9\.\d+\.\d+ has no function buildTokenResponse in /)
  })
})
