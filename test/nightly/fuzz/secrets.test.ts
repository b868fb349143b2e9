/** The fuzzer recognizes the tokens that it has seen, wherever they stand in a text. */
import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { collectSecrets } from '../../../tools/fuzz/secrets.ts'

const SUBJECT_TOKEN = `sub_${'aB3-_'.repeat(13)}`
const OPAQUE = 'o'.repeat(43)
const JWT = `${'h'.repeat(50)}.${'p'.repeat(60)}.${'s'.repeat(86)}`
const HASH = createHash('sha256').update(SUBJECT_TOKEN).digest()

describe('fuzz: tokens in a text', () => {
  const secrets = collectSecrets()
  for (const token of [SUBJECT_TOKEN, OPAQUE, JWT]) secrets.keep(token)

  for (const [where, text] of [
    ['between quotes', `{"a":"${SUBJECT_TOKEN}"}`],
    ['between letters', `x${SUBJECT_TOKEN}y`],
    ['at the end', `a ${OPAQUE}`],
    ['as a JWT', `Bearer ${JWT},`],
    ['as its hash in base64url', `(${HASH.toString('base64url')})`],
    ['as its hash in hexadecimal digits', HASH.toString('hex')],
  ] as const) {
    it(`are found ${where}`, () => {
      expect(secrets.foundIn(text)).to.match(/…$/)
    })
  }

  it('are not seen in texts that have none', () => {
    expect(secrets.foundIn(`sub_${'z'.repeat(65)} ${OPAQUE.slice(1)} o${OPAQUE}`)).to.equal(undefined)
  })
})
