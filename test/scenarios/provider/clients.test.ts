/** What metadata says that no registration has checked (protocol.md §2.3): what cannot be read allows nothing. */
import { expect } from 'chai'
import {
  registeredAudiences,
  registeredManagementScopes,
  registeredResources,
} from '../../../src/provider/client-metadata.ts'

const API = 'https://api.example.com'
const SCOPES = ['subject-tokens:create', 'subject-tokens:read']
const client = { scope: `openid ${SCOPES.join(' ')}`, tokenEndpointAuthMethod: 'private_key_jwt' }

describe('the metadata of a client', () => {
  it('names resources and audiences, which are none where it cannot be read, and absent where it names none', () => {
    for (const [read, member] of [
      [registeredResources, 'token_exchange_resources'],
      [registeredAudiences, 'token_exchange_audiences'],
    ] as const) {
      expect(read({})).to.equal(undefined)
      expect(read({ [member]: [API] })).to.deep.equal([API])
      for (const unreadable of [API, null, [1], [''], {}, [[API]]])
        expect(read({ [member]: unreadable }), JSON.stringify(unreadable)).to.deep.equal([])
    }
    expect(registeredResources({ token_exchange_resources: ['/relative'] })).to.deep.equal([])
  })

  it('names management scopes, if the client authenticates and an administrator wrote it', () => {
    expect([...registeredManagementScopes(client)]).to.deep.equal(SCOPES)
    for (const change of [
      { scope: undefined },
      { scope: SCOPES },
      { tokenEndpointAuthMethod: 'none' },
      { clientIdMetadataDocument: true },
    ])
      expect([...registeredManagementScopes({ ...client, ...change })], JSON.stringify(change)).to.deep.equal(
        [],
      )
  })
})
