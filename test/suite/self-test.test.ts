/** The suite for RFC 8693 sees every planted mistake, and sees nothing where nothing is wrong. */
import { expect } from 'chai'
import { MODES } from '../../suite/test/naive/configurations.ts'
import { FAULT_NAMES, planted } from '../../suite/test/naive/faults.ts'
import { modesOf, probe, untested } from '../../suite/test/self-test.ts'

describe('suite: self-test', () => {
  for (const mode of MODES) {
    it(`passes a server without mistakes over HTTP: ${mode}`, async () => {
      const { unexpected, deviations } = await probe(mode)
      expect(unexpected).to.deep.equal([])
      expect([...deviations]).to.deep.equal([])
    })
  }

  for (const fault of FAULT_NAMES) {
    const { mistake, deviations = [] } = planted(fault)
    it(`sees exactly this: ${mistake}`, async () => {
      const [mode = 'impersonation'] = modesOf(fault)
      const verdict = await probe(mode, fault)
      expect(verdict.unexpected).to.deep.equal([])
      expect(verdict.missing).to.deep.equal([])
      expect([...verdict.deviations]).to.include.members([...deviations])
    })
  }

  it('plants at least one mistake for every check', () => {
    expect(FAULT_NAMES.length).to.be.greaterThan(100)
    expect(untested()).to.deep.equal([])
  })
})
