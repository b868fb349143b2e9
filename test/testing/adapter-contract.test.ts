/** The contract of an adapter: a correct one passes, and each planted fault is found. */
import { expect } from 'chai'
import type { Adapter, AdapterPayload } from 'oidc-provider'
import { adapterContract, type TestRunner } from '../../src/testing/index.ts'
import { describeFaults, failuresOf } from './collected.ts'

interface Row {
  payload: AdapterPayload
  expiresAt: number
}

const copy = (payload: AdapterPayload): AdapterPayload => JSON.parse(JSON.stringify(payload))

/** Keeps rows in a map. Each method can be replaced by one that is wrong. */
class MapAdapter implements Adapter {
  readonly rows: Map<string, Row>
  readonly model: string
  constructor(rows: Map<string, Row>, model: string) {
    this.rows = rows
    this.model = model
  }

  key(id: string): string {
    return `${this.model}:${id}`
  }

  live(row: Row | undefined): AdapterPayload | undefined {
    return row && row.expiresAt > Date.now() ? copy(row.payload) : undefined
  }

  all(): [key: string, row: Row][] {
    return [...this.rows].filter(([key]) => key.startsWith(`${this.model}:`))
  }

  by(member: string, value: string): AdapterPayload | undefined {
    const found = this.all().filter(([, row]) => row.payload[member] === value)
    return found.map(([, row]) => this.live(row)).find((payload) => payload !== undefined)
  }

  async upsert(id: string, payload: AdapterPayload, expiresIn?: number): Promise<void> {
    const consumed = this.rows.get(this.key(id))?.payload.consumed
    const expiresAt = expiresIn === undefined ? Infinity : Date.now() + expiresIn * 1000
    const stored = { ...copy(payload), ...(consumed !== undefined && { consumed }) }
    this.rows.set(this.key(id), { payload: stored, expiresAt })
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    return this.live(this.rows.get(this.key(id)))
  }

  async findByUid(uid: string): Promise<AdapterPayload | undefined> {
    return this.by('uid', uid)
  }

  async findByUserCode(code: string): Promise<AdapterPayload | undefined> {
    return this.by('userCode', code)
  }

  async consume(id: string): Promise<void> {
    const row = this.rows.get(this.key(id))
    if (row) row.payload.consumed = Math.floor(Date.now() / 1000)
  }

  async destroy(id: string): Promise<void> {
    this.rows.delete(this.key(id))
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    for (const [key, row] of this.all()) if (row.payload.grantId === grantId) this.rows.delete(key)
  }
}

type Methods = { [Name in keyof MapAdapter]?: unknown } & ThisType<MapAdapter>

/** What a hurried author gets wrong. */
const FAULTS: Readonly<Record<string, Methods>> = {
  'one storage for all models': { key: (id: string) => id },
  'ids without regard to case': {
    key(id: string) {
      return `${this.model}:${id.toLowerCase()}`
    },
  },
  'ids cut off': {
    key(id: string) {
      return `${this.model}:${id.slice(0, 64)}`
    },
  },
  'no expiry': {
    async upsert(id: string, payload: AdapterPayload) {
      await MapAdapter.prototype.upsert.call(this, id, payload)
    },
  },
  'an expiry for what has none': {
    async upsert(id: string, payload: AdapterPayload, expiresIn = 3600) {
      await MapAdapter.prototype.upsert.call(this, id, payload, expiresIn)
    },
  },
  'an expiry in milliseconds': {
    async upsert(id: string, payload: AdapterPayload, expiresIn?: number) {
      await MapAdapter.prototype.upsert.call(this, id, payload, expiresIn && expiresIn / 1000)
    },
  },
  'the first expiry kept': {
    async upsert(id: string, payload: AdapterPayload, expiresIn?: number) {
      const expiresAt = this.rows.get(this.key(id))?.expiresAt
      await MapAdapter.prototype.upsert.call(this, id, payload, expiresIn)
      const row = this.rows.get(this.key(id))
      if (row && expiresAt !== undefined) row.expiresAt = expiresAt
    },
  },
  'an upsert that revives what was consumed': {
    async upsert(id: string, payload: AdapterPayload, expiresIn?: number) {
      this.rows.delete(this.key(id))
      await MapAdapter.prototype.upsert.call(this, id, payload, expiresIn)
    },
  },
  'an upsert that merges': {
    async upsert(id: string, payload: AdapterPayload, expiresIn?: number) {
      const merged = { ...this.rows.get(this.key(id))?.payload, ...payload }
      await MapAdapter.prototype.upsert.call(this, id, 'userCode' in payload ? merged : payload, expiresIn)
      const row = this.rows.get(this.key(id))
      if (row && String(row.payload.text).length > 65_535) row.payload.text = 'cut off'
    },
  },
  'consumption that ends the life': {
    async consume(id: string) {
      const row = this.rows.get(this.key(id))
      if (row)
        Object.assign(row, { expiresAt: Infinity, payload: { ...row.payload, consumed: 1_800_000_000 } })
      await MapAdapter.prototype.consume.call(this, id)
    },
  },
  'consumption in milliseconds': {
    async consume(id: string) {
      const row = this.rows.get(this.key(id))
      if (row) row.payload.consumed = Date.now()
    },
  },
  'consumption that deletes': {
    async consume(id: string) {
      this.rows.delete(this.key(id))
    },
  },
  'no index of uids': { findByUid: async () => undefined },
  'any session for a uid': {
    async findByUid() {
      return this.live(this.all()[0]?.[1])
    },
  },
  'the wrong user code': {
    async findByUserCode(code: string) {
      const found = this.all().find(([, row]) => String(row.payload.userCode).startsWith(code.slice(0, 8)))
      return this.live(found?.[1])
    },
  },
  'look-ups that know no expiry': {
    by(member: string, value: string) {
      return this.all().find(([, row]) => row.payload[member] === value)?.[1].payload
    },
  },
  'no index of grants': { revokeByGrantId: async () => {} },
  'grants of access tokens only': {
    async revokeByGrantId(grantId: string) {
      if (this.model === 'AccessToken') await MapAdapter.prototype.revokeByGrantId.call(this, grantId)
    },
  },
  'a grant that ends every grant': {
    async revokeByGrantId() {
      for (const [key, row] of this.all()) if (row.payload.grantId) this.rows.delete(key)
    },
  },
  'a grant that ends sessions': {
    async revokeByGrantId(grantId: string) {
      for (const [key, row] of this.rows) if (row.payload.grantId === grantId) this.rows.delete(key)
    },
  },
  'destroyed rows that stay': { destroy: async () => {} },
  'a list of known models': {
    key(id: string) {
      if (this.model.endsWith('Release')) throw new Error('unknown model')
      return `${this.model}:${id}`
    },
  },
  'a row for every id': {
    async find(id: string) {
      return (await MapAdapter.prototype.find.call(this, id)) ?? {}
    },
  },
  'a row for every uid': {
    async findByUid(uid: string) {
      return this.by('uid', uid) ?? {}
    },
  },
  'a row for every user code': {
    async findByUserCode(code: string) {
      return this.by('userCode', code) ?? {}
    },
  },
  'a destroy that fails where nothing is': {
    async destroy(id: string) {
      if (!this.rows.delete(this.key(id))) throw new Error('not found')
    },
  },
  'one uid for all that is destroyed': {
    async destroy(id: string) {
      const row = this.rows.get(this.key(id))
      if (row) row.payload = { uid: row.payload.uid, userCode: row.payload.userCode }
      if (!row?.payload.uid && !row?.payload.userCode) this.rows.delete(this.key(id))
    },
    async find(id: string) {
      const found = await MapAdapter.prototype.find.call(this, id)
      return found?.jti || found?.client_id ? found : undefined
    },
  },
  'all of a model destroyed at once': {
    async destroy() {
      for (const [key] of this.all()) this.rows.delete(key)
    },
  },
  'payloads without their last members': {
    async upsert(id: string, { extra: _, ...payload }: AdapterPayload, expiresIn?: number) {
      await MapAdapter.prototype.upsert.call(this, id, payload, expiresIn)
    },
  },
  ...Object.fromEntries(
    [
      ['text in ASCII', /[^ -~]/g, '?'],
      ['no truth values', /false/g, '0'],
      ['nothing for null', /null,/g, ''],
      ['fractions cut off', /\.5/g, ''],
      ['large numbers cut off', /4000000000/g, '2147483647'],
    ].map(([fault = '', pattern = '', written]) => [
      fault,
      {
        async upsert(id: string, payload: AdapterPayload, expiresIn?: number) {
          const stored = JSON.parse(JSON.stringify(payload).replace(pattern, String(written)))
          await MapAdapter.prototype.upsert.call(this, id, stored, expiresIn)
        },
      } as Methods,
    ]),
  ),
  'text without its zero bytes': {
    async upsert(id: string, payload: AdapterPayload, expiresIn?: number) {
      const cleaned = JSON.parse(JSON.stringify(payload).replaceAll('\\u0000', ''))
      await MapAdapter.prototype.upsert.call(this, id, cleaned, expiresIn)
    },
  },
  'members set one by one': {
    async upsert(id: string, payload: AdapterPayload, expiresIn?: number) {
      await MapAdapter.prototype.upsert.call(this, id, Object.assign({}, payload), expiresIn)
    },
  },
  'a time of consumption that no one asked for': {
    async consume(id: string) {
      const row = this.rows.get(this.key(id))
      if (row) row.payload.consumed = 1
    },
  },
  'a fraction of a second in the time of consumption': {
    async consume(id: string) {
      const row = this.rows.get(this.key(id))
      if (row) row.payload.consumed = Math.floor(Date.now() / 1000) + 0.5
    },
  },
  'consumption as a text': {
    async consume(id: string) {
      const row = this.rows.get(this.key(id))
      if (row) Object.assign(row.payload, { consumed: String(Math.floor(Date.now() / 1000)) })
    },
  },
  'a time of consumption that lies ahead': {
    async consume(id: string) {
      const row = this.rows.get(this.key(id))
      if (row) row.payload.consumed = Math.floor(Date.now() / 1000) + 60
    },
  },
  'consumption that leaves nothing else': {
    async consume(id: string) {
      const row = this.rows.get(this.key(id))
      if (row) row.payload = { consumed: Math.floor(Date.now() / 1000), userCode: row.payload.userCode }
    },
  },
  'consumption that user codes do not tell': {
    async findByUserCode(code: string) {
      const { consumed: _, ...found } = this.by('userCode', code) ?? {}
      return found.userCode ? found : undefined
    },
  },
  'an upsert that deletes what was consumed': {
    async upsert(id: string, payload: AdapterPayload, expiresIn?: number) {
      if (this.rows.get(this.key(id))?.payload.consumed) this.rows.delete(this.key(id))
      else await MapAdapter.prototype.upsert.call(this, id, payload, expiresIn)
    },
  },
  'members that reach the prototype of all': {
    async upsert(id: string, payload: AdapterPayload, expiresIn?: number) {
      await MapAdapter.prototype.upsert.call(this, id, payload, expiresIn)
      if (Object.hasOwn(payload, '__proto__'))
        Object.defineProperty(Object.prototype, 'polluted', { value: true, configurable: true })
    },
  },
  'consumed rows that no upsert changes': {
    async upsert(id: string, payload: AdapterPayload, expiresIn?: number) {
      if (this.rows.get(this.key(id))?.payload.consumed) return
      await MapAdapter.prototype.upsert.call(this, id, payload, expiresIn)
    },
  },
  'the life of what is consumed cut short': {
    async consume(id: string) {
      const row = this.rows.get(this.key(id))
      if (!row) return
      row.payload.consumed = Math.floor(Date.now() / 1000)
      row.expiresAt = Date.now() + 60_000
    },
  },
  'a life without end for what is consumed': {
    async consume(id: string) {
      const row = this.rows.get(this.key(id))
      if (!row) return
      row.payload.consumed = Math.floor(Date.now() / 1000)
      row.expiresAt = Infinity
    },
  },
  'uids that know no expiry': {
    async findByUid(uid: string) {
      return this.all().find(([, row]) => row.payload.uid === uid)?.[1].payload
    },
  },
  'user codes that know no expiry': {
    async findByUserCode(code: string) {
      return this.all().find(([, row]) => row.payload.userCode === code)?.[1].payload
    },
  },
  'uids of the past': {
    async upsert(id: string, payload: AdapterPayload, expiresIn?: number) {
      const earlier = this.rows.get(this.key(id))
      if (earlier) this.rows.set(`${this.key(id)} before`, earlier)
      await MapAdapter.prototype.upsert.call(this, id, payload, expiresIn)
    },
  },
  'rows without a grant that end with any': {
    async revokeByGrantId(grantId: string) {
      for (const [key, { payload }] of this.all())
        if (payload.grantId === grantId || payload.grantId === undefined) this.rows.delete(key)
    },
  },
  'its own objects handed out': {
    live(row: Row | undefined) {
      return row && row.expiresAt > Date.now() ? row.payload : undefined
    },
  },
}

/** Every text of it, at any depth. */
const textsOf = (value: unknown): string[] =>
  typeof value === 'string' ? [value] : Object.values(Object(value)).flatMap(textsOf)

/** Refuses what no release of oidc-provider sends. */
const STRICT: Methods = {
  key(id: string) {
    if (id === '' || !/^[A-Z][A-Za-z]+$/.test(this.model)) throw new Error(`not sent: ${this.model} ${id}`)
    return `${this.model}:${id}`
  },
  async upsert(id: string, payload: AdapterPayload, expiresIn?: number) {
    const owners = { uid: 'Session', userCode: 'DeviceCode' }
    for (const [member, owner] of Object.entries(owners))
      if (member in payload && this.model !== owner) throw new Error(`not sent: ${member}`)
    if (textsOf(payload).includes('') || Object.keys(payload).length === 0)
      throw new Error('not sent: no text')
    if (expiresIn !== undefined && !(expiresIn > 0)) throw new Error('not sent: no life')
    await MapAdapter.prototype.upsert.call(this, id, payload, expiresIn)
  },
  by(member: string, value: string) {
    this.key(value)
    if (this.model !== (member === 'uid' ? 'Session' : 'DeviceCode')) throw new Error(`not asked: ${member}`)
    return MapAdapter.prototype.by.call(this, member, value)
  },
  async revokeByGrantId(grantId: string) {
    this.key(grantId)
    await MapAdapter.prototype.revokeByGrantId.call(this, grantId)
  },
}

describe('the contract of an adapter', () => {
  afterEach(() => void Reflect.deleteProperty(Object.prototype, 'polluted'))

  const contractWith = (methods: Methods) => (runner: TestRunner) =>
    adapterContract({
      ...runner,
      create: async () => {
        const rows = new Map<string, Row>()
        return { adapter: (model) => Object.assign(new MapAdapter(rows, model), methods) }
      },
    })
  const failures = (methods: Methods) => failuresOf(contractWith(methods))

  it('is kept by a plain map', async () => {
    expect(await failures({})).to.deep.equal([])
  })

  it('is kept by one that takes nothing but what oidc-provider sends', async () => {
    expect(await failures(STRICT)).to.deep.equal([])
  })

  it('is kept by one whose clock is a second behind', async () => {
    const consume = async function (this: MapAdapter, id: string) {
      const row = this.rows.get(this.key(id))
      if (row) row.payload.consumed = Math.floor(Date.now() / 1000) - 1
    }
    expect(await failures({ consume })).to.deep.equal([])
  })

  describeFaults(FAULTS, contractWith)
})
