/** The secrets that docs/help.md says `Authorization: Basic` carries as they are, sent by curl. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { machineClient } from '../../../fixtures/clients.ts'
import { type Deployment, withDeployment } from '../../../fixtures/deployment.ts'
import { readPage } from '../../../fixtures/markdown.ts'
import { codeOf, rowsOf, sectionOf } from '../../../fixtures/page.ts'

const PAGE = readPage('docs/help.md')
describe('docs: help', () => {
  it('names the characters that Basic carries as they are, and both errors of the others', async () => {
    const rows = rowsOf(sectionOf(PAGE, 'At the token endpoint'))
    const [symptom = '', cause = ''] = rows.find(([first]) => first?.includes('properly encoded')) ?? []
    const [, code, description] = /401 `(.*?)`, or 400 `(.*?)`/.exec(symptom) ?? []
    const named = new RegExp(`[${codeOf(cause)[0]?.replaceAll(' ', '').replaceAll('–', '-')}]`)
    const ascii = Array.from({ length: 94 }, (_, index) => String.fromCharCode(0x21 + index))
    const secrets = {
      named: ascii.filter((character) => named.test(character)).join(''),
      plus: 'a+b',
      percent: 'a%b',
    }
    expect(secrets.named).to.have.length(66)
    const clients = Object.entries(secrets).map(([client_id, client_secret]) =>
      machineClient({ client_id, client_secret }),
    )
    await withDeployment({ clients }, async (deployment) => {
      const response = (id: keyof typeof secrets, secret = secrets[id]) => curl(deployment, `${id}:${secret}`)
      expect(await response('named')).to.include({ status: 200 })
      expect(await response('plus')).to.include({ status: 401, error: code })
      expect(await response('percent')).to.include({ status: 400, error_description: description })
      for (const id of ['plus', 'percent'] as const)
        expect(await response(id, encodeURIComponent(secrets[id]))).to.include({ status: 200 })
    })
  })
})

/** The management token that curl gets. It sends the id and the secret as they are. */
async function curl({ tokenEndpoint, baseUrl }: Deployment, user: string) {
  const form = ['-d', 'grant_type=client_credentials', '-d', `resource=${baseUrl}/api`]
  const asked = ['-s', '-w', '\n%{http_code}', '-u', user, ...form, tokenEndpoint]
  const { stdout } = await promisify(execFile)('curl', asked)
  const [body = '', status] = stdout.split('\n')
  return { status: Number(status), ...JSON.parse(body) }
}
