// Appended to what Debian's Dafny compiles a component to. Reads {function, inputs} from the file named in argv[2],
// calls the method once an input and writes one JSON line an input to descriptor 3. What is right is judged elsewhere,
// from values: nothing that the code prints, and no exit code, proves anything.
(function () {
  const fs = require('fs');
  const job = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));
  const modules = eval(job.module);
  const owner = job.owner.reduce((o, name) => o[name], modules);

  function decode(x, t) {
    switch (t.k) {
      case 'int': return new BigNumber(x);
      case 'native': return Number(x);
      case 'bool': case 'char': return x;
      case 'real': return new _dafny.BigRational(new BigNumber(x[0]), new BigNumber(x[1]));
      case 'string': return x;
      case 'seq': return _dafny.Seq.of(...x.map(e => decode(e, t.of)));
      case 'set': return _dafny.Set.fromElements(...x.map(e => decode(e, t.of)));
      case 'multiset': return _dafny.MultiSet.fromElements(...x.map(e => decode(e, t.of)));
      case 'map': return x.reduce((m, [k, v]) => m.update(decode(k, t.key), decode(v, t.value)), _dafny.Map.Empty);
      case 'tuple': return _dafny.Tuple.of(...x.map((e, i) => decode(e, t.of[i])));
      case 'array': return x.map(e => decode(e, t.of));
      case 'array2': return { dims: [new BigNumber(x.length), new BigNumber(x.length ? x[0].length : 0)],
                              elmts: x.map(row => row.map(e => decode(e, t.of))) };
      case 'data': {
        const d = job.types[t.type], c = d.ctors.find(c => c.name === x.ctor);
        const type = eval(d.module)[d.name];
        return type['create_' + c.js](...x.args.map((a, i) => decode(a, c.args[i])));
      }
    }
    throw new Error('type ' + t.k);
  }

  function encode(x, t) {
    switch (t.k) {
      case 'int': return BigNumber.isBigNumber(x) ? x.toFixed() : String(x);
      case 'native': return String(x);
      case 'bool': case 'char': return x;
      case 'real': return x.num.isZero() ? '0' : x.num.toFixed() + '/' + x.den.toFixed();
      case 'string': return typeof x === 'string' ? x : Array.from(x).join('');
      case 'seq': return Array.from(x).map(e => encode(e, t.of));
      case 'set': return Array.from(x).map(e => encode(e, t.of));
      case 'multiset': {
        const found = [];
        for (const [e, n] of x) for (let i = new BigNumber(n); i.isGreaterThan(0); i = i.minus(1)) found.push(encode(e, t.of));
        return found;
      }
      case 'map': return Array.from(x).map(([k, v]) => [encode(k, t.key), encode(v, t.value)]);
      case 'tuple': return Array.from(x).map((e, i) => encode(e, t.of[i]));
      case 'array': return Array.from(x).map(e => encode(e, t.of));
      case 'array2': return x.elmts.map(row => Array.from(row).map(e => encode(e, t.of)));
      case 'data': {
        const d = job.types[t.type];
        for (const c of d.ctors) {
          if (d.ctors.length === 1 || x['is_' + c.js]) {
            return { ctor: c.name, args: c.args.map((a, i) => encode(x[c.fields[i]], a)) };
          }
        }
        throw new Error('constructor of ' + d.name);
      }
    }
    throw new Error('type ' + t.k);
  }

  job.inputs.forEach((input, i) => {
    let line;
    try {
      const args = input.map((x, j) => decode(x, job.parameters[j].type));
      const got = owner[job.function](...args);
      const results = job.results.length === 1 ? [got] : job.results.length === 0 ? [] : got;
      const out = {};
      job.results.forEach((r, j) => { out[r.name] = encode(results[j], r.type); });
      job.parameters.forEach((p, j) => { if (p.type.k.startsWith('array')) out[p.name] = encode(args[j], p.type); });
      line = { i: i, output: out };
    } catch (e) {
      line = { i: i, error: String(e && e.message || e).slice(0, 300) };
    }
    fs.writeSync(3, JSON.stringify(line) + '\n');
  });
})();
