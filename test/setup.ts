import { stopServers } from '../fixtures/databases.ts'

// oidc-provider warns about development defaults; the tests choose theirs on purpose.
process.env.NODE_NO_WARNINGS = '1'

export const mochaHooks = {
  async afterAll() {
    await stopServers()
  },
}
